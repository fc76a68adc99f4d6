# pd-test: target=0.24.0rc1
vllm serve /models/m --kv-transfer-config "{\"kv_connector\": \"RecomputeCPUOffloadConnector\", \"kv_role\": \"kv_consumer\", \"kv_connector_extra_config\": $1}"
