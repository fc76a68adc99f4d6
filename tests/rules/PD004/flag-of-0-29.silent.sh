#!/bin/bash
# pd-test: target=0.30.0rc2
vllm serve /models/DeepSeek-V3.1-w8a8 --tensor-parallel-size 8 --quantization ascend --enable-batch-sharded-sampling \
  --additional-config '{"ascend_warmup_config":{"enable_early_kernel_warmup":true},"multistream_engram_overlap":true}'
