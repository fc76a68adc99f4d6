# pd-test: target=vllm==0.32.0
vllm serve /models/m --speculative-config '{"num_speculative_tokens": 3, "model": "'"$DRAFT"'"}'
