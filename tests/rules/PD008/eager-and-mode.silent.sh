# pd-test: target=vllm==0.32.0
vllm serve /models/m --enforce-eager --compilation-config '{"mode": 0}'
