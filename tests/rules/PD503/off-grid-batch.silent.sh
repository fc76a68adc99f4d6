#!/bin/bash
vllm serve /models/m --max-num-seqs 6 --max-num-batched-tokens 42 --max-cudagraph-capture-size 42 \
  --speculative-config '{"method": "mtp", "num_speculative_tokens": 6}'
