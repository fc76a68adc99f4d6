# pd-test: target=vllm==0.32.0
vllm serve /models/m --compilation-config '{"debug_dump_path": "/tmp/a"}'
