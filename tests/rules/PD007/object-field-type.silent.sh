# pd-test: target=vllm==0.32.0
vllm serve /models/m --compilation-config '{"max_cudagraph_capture_size": "64"}'
