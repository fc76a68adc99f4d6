# pd-test: target=vllm==0.32.0
vllm serve /models/m --max-num-active-seqs 256 --max-num-seqs 256
