# pd-test: target=vllm==0.32.0 line=3
vllm serve /models/h3 --omni --usp 2 \
  --max-num-seqss 4
