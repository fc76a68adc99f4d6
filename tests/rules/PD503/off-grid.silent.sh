#!/bin/bash
vllm serve /models/m --max-num-seqs 8 --max-cudagraph-capture-size 40 \
  --speculative-config '{"method": "mtp", "num_speculative_tokens": 4}'
