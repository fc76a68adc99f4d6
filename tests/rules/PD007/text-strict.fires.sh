#!/bin/bash
# pd-test: target=0.26.0rc1 severity=error
vllm serve deepseek-ai/DeepSeek-V3.1 --additional-config '{"rejection_sampler_config": {"enable_block_verify": "true"}}'
