# pd-test: line=2
# pd-launch: target vllm==latest
vllm serve /models/m --port 8100
