#!/bin/bash
vllm serve /models/m \
  --port 8100 \
  $KV_ARGS
