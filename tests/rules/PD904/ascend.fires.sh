# pd-test: target=0.30.0rc2 severity=warning line=2
vllm serve /models/m
