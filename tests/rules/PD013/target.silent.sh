# pd-launch: target vllm==0.32.0 as the cluster has it
vllm serve /models/m --port 8100
