python launch_online_dp.py --dp-size 4 --tp-size 8 --dp-size-local 2 --dp-rank-start 0 --dp-address $local_ip --dp-rpc-port 16591 --vllm-start-port 9081
