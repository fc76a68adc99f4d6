# pd-test: target=vllm==0.32.0 severity=info line=3
vllm serve /models/m --enforce-eager \
  --compilation-config '{"cudagraph_mode": "FULL_DECODE_ONLY"}'
