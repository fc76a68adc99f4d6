# pd-test: target=vllm==0.32.0
python mooncake_connector_proxy.py --prefill http://192.0.2.11:8010 --decode http://192.0.2.21:8020
