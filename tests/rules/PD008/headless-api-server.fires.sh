#!/bin/bash
# pd-test: severity=warning line=4
python3 -m vllm.entrypoints.openai.api_server --model /models/m \
  --headless --data-parallel-size 2 --data-parallel-start-rank 1
