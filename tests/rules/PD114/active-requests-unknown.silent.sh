# pd-test: target=vllm==0.32.0
vllm serve /models/m --max-num-active-seqs 600 --max-num-seqs "$SEQS"
