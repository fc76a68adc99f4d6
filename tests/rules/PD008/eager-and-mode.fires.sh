# pd-test: target=vllm==0.32.0 severity=info line=2
vllm serve /models/m --enforce-eager --compilation-config '{"mode": 3}'
