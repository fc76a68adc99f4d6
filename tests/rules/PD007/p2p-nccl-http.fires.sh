# pd-test: target=vllm:0.23.0 line=3
vllm serve /data/Qwen3-8B --port 20001 \
  --kv-transfer-config '{"kv_connector":"P2pNcclConnector","kv_role":"kv_producer","kv_port":"21001","kv_connector_extra_config":{"proxy_ip":"192.0.2.1","proxy_port":"30001"}}'
