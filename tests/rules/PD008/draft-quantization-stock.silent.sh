# pd-test: target=vllm==0.32.0
vllm serve /models/m --speculative-config '{"method": "mtp", "num_speculative_tokens": 1, "quantization": "fp8"}'
