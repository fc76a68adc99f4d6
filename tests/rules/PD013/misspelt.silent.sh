# pd-launch: see the guide
vllm serve /models/m --port 8100
