# pd-test: target=vllm==0.32.0 severity=error
vllm serve /models/m --speculative-config '{"method":"ngram","num_speculative_tokens":2,"synthetic_acceptance_length":1.5}'
