# pd-test: target=vllm==0.32.0
vllm serve /models/m --max-num-seqs ' 8_0' --kv-offloading-size None
