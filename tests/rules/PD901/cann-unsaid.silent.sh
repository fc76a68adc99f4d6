#!/bin/bash
# pd-test: target=0.30.0rc1
vllm serve /models/m --tensor-parallel-size 2
