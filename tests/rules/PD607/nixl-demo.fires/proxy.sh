# pd-test: target=vllm==0.32.0 severity=warning line=2
python disagg_proxy_demo.py --model /models/m --prefill 192.0.2.11:8010 --decode 192.0.2.21:8020 --port 8000
