#!/bin/bash
# pd-test: target=0.26.0rc1 severity=warning
vllm serve deepseek-ai/DeepSeek-V3.1 --additional-config '{"enable_cpu_binding": "off"}'
