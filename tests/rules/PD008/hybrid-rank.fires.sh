# pd-test: target=vllm==0.32.0 severity=warning line=2
vllm serve /models/deepseek-v3 --data-parallel-size 16 --data-parallel-hybrid-lb --data-parallel-rank 3
