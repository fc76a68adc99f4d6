# pd-test: target=vllm==0.32.0 severity=error
vllm serve /models/m --attention-backend FLASHINFER --attention-config.backend FLASH_ATTN
