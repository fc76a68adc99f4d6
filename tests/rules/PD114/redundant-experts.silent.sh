# pd-test: target=vllm==0.32.0
vllm serve /models/m --enable-eplb --enable-expert-parallel --eplb-config '{"num_redundant_experts": 4}'
