# pd-test: target=vllm==0.32.0 severity=info line=3
export VLLM_DEBUG_DUMP_PATH=/tmp/b
vllm serve /models/m --compilation-config '{"debug_dump_path": "/tmp/a"}'
