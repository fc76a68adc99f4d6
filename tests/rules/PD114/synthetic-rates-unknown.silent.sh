# pd-test: target=vllm==0.32.0
vllm serve /models/m --speculative-config '{"method":"ngram","num_speculative_tokens":2,"rejection_sample_method":"'$METHOD'","synthetic_acceptance_length":1.5}'
