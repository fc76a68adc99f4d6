#!/bin/bash
vllm serve /models/m \
  --port 8200 \
  $KV_ARGS
