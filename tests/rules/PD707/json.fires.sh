#!/bin/bash
# pd-test: line=3
vllm serve /models/m --speculative-config '{"method": "eagle3", "model": "/path/to/draft", "num_speculative_tokens": 2}'
