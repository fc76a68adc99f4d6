#!/bin/bash
# pd-test: target=0.23.0
vllm serve /models/m --tensor-parallel-size 2
