# pd-test: target=vllm==0.32.0
vllm serve /models/m --attention-backend FLASHINFER --attention-config '{"use_cudnn_prefill":true}'
