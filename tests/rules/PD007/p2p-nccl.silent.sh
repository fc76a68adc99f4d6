# pd-test: target=vllm:0.23.0
vllm serve /data/Qwen3-8B --port 20001 \
  --kv-transfer-config '{"kv_connector":"P2pNcclConnector","kv_role":"kv_producer","kv_port":"21001","kv_connector_extra_config":{"proxy_ip":"","proxy_port":"","send_type":"GET"}}'
vllm serve /data/Qwen3-8B --port 20002 \
  --kv-transfer-config '{"kv_connector":"P2pNcclConnector","kv_role":"kv_producer","kv_port":22001,"kv_connector_extra_config":{"proxy_ip":"192.0.2.1","proxy_port":"30001","http_port":20002}}'
