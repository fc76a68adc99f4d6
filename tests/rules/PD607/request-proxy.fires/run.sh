CUDA_VISIBLE_DEVICES=0 vllm serve Qwen/Qwen3-4B --port 8100 --kv-transfer-config '{"kv_connector": "LMCacheMPConnector", "kv_role": "kv_both"}' &
CUDA_VISIBLE_DEVICES=1 vllm serve Qwen/Qwen3-4B --port 8200 --kv-transfer-config '{"kv_connector": "LMCacheMPConnector", "kv_role": "kv_both"}' &
python3 disagg_proxy_server.py --host localhost --port 9000 --prefiller-host localhost --prefiller-port 8100 --decoder-host localhost --decoder-port 8200 &
# pd-test: target=vllm==0.32.0 severity=warning line=5
curl http://127.0.0.1:8000/v1/completions -d '{"model": "Qwen/Qwen3-4B", "prompt": "a"}'
