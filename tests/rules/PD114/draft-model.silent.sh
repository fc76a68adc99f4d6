# pd-test: target=vllm==0.32.0
vllm serve /models/m --speculative-config '{"method": "eagle", "model": "/models/d", "num_speculative_tokens": 2}' 
