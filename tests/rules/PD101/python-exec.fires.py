# pd-test: target=vllm:0.30.0 severity=error
import json
import os

kv = {"kv_connector": "NixlConnector"}
os.execvp("vllm", ["vllm", "serve", "Qwen/Qwen3-8B", "--kv-transfer-config", json.dumps(kv)])
