#!/bin/bash
# pd-test: target=vllm:0.32.0 severity=warning
vllm serve Qwen/Qwen3-8B --port 20005 --kv-transfer-config '{"kv_connector": "MoRIIOConnector", "kv_role": "kv_producer", "kv_connector_extra_config": {"http_port": "20005", "proxy_ip": "192.0.2.1", "proxy_ping_port": "36367", "proxy_ping_prot": "1"}}'
