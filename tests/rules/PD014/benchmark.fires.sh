# pd-test: severity=warning line=2
vllm bench throughput --model /models/m --tensor-parallel-size 2 --num-prompts 10
