#!/bin/bash
# pd-test: severity=error line=4
vllm serve /models/m \
  --port 8000 \  
