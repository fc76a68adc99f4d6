# pd-test: target=vllm==0.32.0
vllm serve /models/m --speculative-config '{"method": "ngram", "num_speculative_tokens": 3, "prompt_lookup_min": 4, "prompt_lookup_max": 4}'
