# pd-test: target=vllm==0.32.0 severity=warning
vllm serve /models/m --device-ids 0,1 --tensor-parallel-size 2 --distributed-executor-backend ray
