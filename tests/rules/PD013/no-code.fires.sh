# pd-test: severity=warning line=2
vllm serve /models/m --port 8100 # pd-launch: ignore
