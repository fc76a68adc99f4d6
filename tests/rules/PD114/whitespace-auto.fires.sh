# pd-test: target=vllm==0.32.0
vllm serve /models/m --structured-outputs-config '{"disable_any_whitespace": true}'
