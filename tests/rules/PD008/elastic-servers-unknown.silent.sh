# pd-test: target=vllm==0.32.0
vllm serve /models/m --enable-elastic-ep --enable-eplb --enable-expert-parallel --data-parallel-size 2 --api-server-count "$SERVERS"
