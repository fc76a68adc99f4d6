# pd-test: line=2
# pd-launch: taget vllm==0.32.0
vllm serve /models/m --port 8100
