#!/bin/bash
# pd-test: severity=warning
python3 -m vllm.entrypoints.openai.api_server --model /models/m --api-server-count 4
