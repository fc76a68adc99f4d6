#!/bin/bash
vllm serve /models/weights \
  --data-parallel-size 8 --data-parallel-rank 0 --data-parallel-address 192.0.2.11 --data-parallel-rpc-port 13389
