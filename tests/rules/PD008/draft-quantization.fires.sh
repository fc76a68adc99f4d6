# pd-test: target=0.26.0rc1 severity=info line=2
vllm serve /models/m --quantization ascend --speculative-config '{"method": "mtp", "num_speculative_tokens": 1, "quantization": "ascend"}'
