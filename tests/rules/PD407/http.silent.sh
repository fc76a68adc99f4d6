#!/bin/bash
vllm serve /models/deepseek-v3.1-w8a8 \
  --port 8102
