# pd-test: target=vllm==0.32.0
vllm serve /models/m --$NAME 8 $EXTRA ${MORE}-x "--port" "$1"
