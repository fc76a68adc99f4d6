#!/bin/bash
vllm serve /models/m --speculative-config '{"method": "eagle3", "model": "/models/draft", "num_speculative_tokens": 2}'
