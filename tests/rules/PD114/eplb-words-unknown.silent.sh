# pd-test: target=vllm==0.32.0
vllm serve /models/m --enable-eplb --data-parallel-size 2 $EXTRA_ARGS
