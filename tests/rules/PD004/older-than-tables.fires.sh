# pd-test: target=vllm==0.10.2 severity=warning line=2
vllm serve /models/m --disable-log-requests
