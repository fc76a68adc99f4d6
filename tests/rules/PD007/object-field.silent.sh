# pd-test: target=vllm==0.32.0
vllm serve /models/m --compilation-config '{"cudagraph_capture_sizes": [1, 2]}'
