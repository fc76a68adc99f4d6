# pd-test: target=vllm==0.32.0
vllm serve /models/m --compilation-config '{"pass_config": {"fuse_norm_quant": true}}'
