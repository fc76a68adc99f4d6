#!/bin/bash
# pd-test: target=0.30.0rc2 severity=warning
vllm serve /models/m --tensor-parallel-size 2
