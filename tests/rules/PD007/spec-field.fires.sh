# pd-test: target=vllm==0.32.0 line=2
vllm serve /models/m --speculative-config '{"method": "ngram", "num_spec_tokens": 3}'
