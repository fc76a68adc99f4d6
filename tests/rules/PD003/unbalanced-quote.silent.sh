#!/bin/bash
vllm serve /models/m \
  --additional-config '{"enable_cpu_binding": true}' \
  --port 8000
