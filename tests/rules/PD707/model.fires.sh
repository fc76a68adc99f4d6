#!/bin/bash
# pd-test: line=3
vllm serve /path/to/model --tensor-parallel-size 2
