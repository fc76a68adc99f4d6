# pd-test: target=0.26.0rc1
vllm serve /models/m --kv-transfer-config "{\"kv_connector\": \"$1\", \"kv_role\": \"kv_both\"}"
