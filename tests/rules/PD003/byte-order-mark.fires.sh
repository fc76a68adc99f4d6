vllm serve /models/m --port 8000
# pd-test: target=0.32.0 severity=error line=1
