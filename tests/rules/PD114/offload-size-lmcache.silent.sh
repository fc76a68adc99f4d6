# pd-test: target=vllm==0.32.0
vllm serve /models/m --kv-offloading-size 8 --kv-offloading-backend lmcache --kv-transfer-config '{"kv_connector": "LMCacheMPConnector", "kv_role": "kv_both"}'
