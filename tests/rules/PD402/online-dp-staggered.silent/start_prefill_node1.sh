python launch_online_dp.py --dp-size 16 --tp-size 2 --dp-size-local 8 --dp-rank-start 8 --dp-address $node_p0_ip --dp-rpc-port 16591 --vllm-start-port 9081
