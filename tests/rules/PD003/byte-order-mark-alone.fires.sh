# pd-test: target=0.32.0 severity=warning line=1
vllm serve /models/m --port 8000
