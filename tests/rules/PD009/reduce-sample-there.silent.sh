#!/bin/bash
# pd-test: target=0.29.0rc1
vllm serve /models/DeepSeek-V3.1-w8a8 --tensor-parallel-size 8 --quantization ascend \
  --additional-config '{"enable_reduce_sample":true}'
