#!/bin/bash
vllm serve /models/m \
  --headless --data-parallel-size 2 --data-parallel-start-rank 1
