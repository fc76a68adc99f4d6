# pd-test: target=vllm==0.32.0
vllm serve /models/m -tp 8 --decode-context-parallel-size 8 --cp-kv-cache-interleave-size $N --dcp-kv-cache-interleave-size 64
