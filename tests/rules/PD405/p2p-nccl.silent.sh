# pd-test: target=vllm:0.23.0
CUDA_VISIBLE_DEVICES=0,1 vllm serve /data/Qwen3-8B --port 20001 --tensor-parallel-size 2 \
  --kv-transfer-config '{"kv_connector":"P2pNcclConnector","kv_role":"kv_producer","kv_buffer_size":"1e1","kv_port":"21001","kv_connector_extra_config":{"proxy_ip":"192.0.2.1","proxy_port":"30001","http_port":"20001"}}' &
CUDA_VISIBLE_DEVICES=2,3 vllm serve /data/Qwen3-8B --port 20009 --tensor-parallel-size 2 \
  --kv-transfer-config '{"kv_connector":"P2pNcclConnector","kv_role":"kv_consumer","kv_buffer_size":"8e9","kv_port":"21003","kv_connector_extra_config":{"proxy_ip":"192.0.2.1","proxy_port":"30001","http_port":"20009"}}' &
