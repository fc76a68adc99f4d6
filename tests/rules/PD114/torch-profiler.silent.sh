# pd-test: target=vllm==0.32.0
vllm serve /models/m --profiler-config '{"profiler": "torch", "torch_profiler_dir": "/tmp/traces"}'
