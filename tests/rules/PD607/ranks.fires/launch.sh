#!/bin/bash
python launch_online_dp.py --dp-size 2 --tp-size 1 --dp-size-local 2 --dp-rank-start 0 --dp-address 192.0.2.21 --dp-rpc-port 16591 --vllm-start-port 9100
