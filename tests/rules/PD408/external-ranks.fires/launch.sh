#!/bin/bash
python launch_online_dp.py --dp-size 4 --tp-size 1 --dp-size-local 2 --dp-rank-start 0 --dp-address 127.0.0.1 --dp-rpc-port 16591 --vllm-start-port 9100
