# pd-test: target=vllm:0.30.0
import json
import os

kv = {"kv_connector": "NixlConnector", "kv_role": "kv_both"}
os.execvp("vllm", ["vllm", "serve", "Qwen/Qwen3-8B", "--kv-transfer-config", json.dumps(kv)])
