# pd-test: target=vllm:0.30.0
vllm serve /models/m --override-generation-config '{"max_new_tokens": null}' --profiler-config '{"profiler": "torch"}'
