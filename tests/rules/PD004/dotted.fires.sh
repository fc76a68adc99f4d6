# pd-test: target=vllm==0.32.0 line=2
vllm serve /models/m --port.x 3 --eplb-conf.window_size 8
