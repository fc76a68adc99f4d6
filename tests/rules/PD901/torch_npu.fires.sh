#!/bin/bash
# pd-test: target=0.23.0 severity=warning
vllm serve /models/m --tensor-parallel-size 2
