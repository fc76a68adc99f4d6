#!/bin/bash
# pd-test: severity=error line=3
vllm serve /models/m \
  --port 8200
