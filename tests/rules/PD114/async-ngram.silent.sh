# pd-test: target=vllm==0.32.0
vllm serve /models/m --no-async-scheduling --speculative-config '{"method": "ngram", "num_speculative_tokens": 3}'
