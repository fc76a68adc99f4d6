# pd-test: target=vllm==0.32.0
vllm serve /models/m --load-format runai_streamer --model-loader-extra-config '{"concurrency": 16}'
