# pd-test: target=vllm:0.32.0
vllm serve Qwen/Qwen3-32B -tp 2 \
  --kv-transfer-config '{"kv_connector": "OffloadingConnector", "kv_role": "kv_both", "kv_connector_extra_config": {"spec_name": "TieringOffloadingSpec", "cpu_bytes_to_use": 64000000000.0, "secondary_tiers": [{"type": "fs", "root_dir": "/mnt/nvme/kv"}]}}'
vllm serve Qwen/Qwen3-32B -tp 2 --port 8001 \
  --kv-transfer-config '{"kv_connector": "OffloadingConnector", "kv_role": "kv_both", "kv_connector_extra_config": {"spec_name": "MySpec", "spec_module_path": "mine.spec"}}'
vllm serve Qwen/Qwen3-32B -tp 2 --port 8002 --kv-offloading-size 64 \
  --kv-transfer-config '{"kv_connector": "OffloadingConnector", "kv_role": "kv_both"}'
