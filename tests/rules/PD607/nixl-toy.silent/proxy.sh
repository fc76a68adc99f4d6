# pd-test: target=vllm==0.32.0
python toy_proxy_server.py --prefiller-host 192.0.2.11 --prefiller-port 8010 --decoder-host 192.0.2.21 --decoder-port 8020
