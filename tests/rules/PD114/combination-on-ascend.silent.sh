# pd-test: target=vllm-ascend==0.30.0rc2
vllm serve /models/m --api-server-count 2 --additional-config '{}' --enable-lora --mamba-block-size 256 --max-model-len 4096 --no-enable-prefix-caching
