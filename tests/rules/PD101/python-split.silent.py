# pd-test: target=vllm:0.30.0
import shlex
import subprocess

kv = {"kv_connector": "NixlConnector", "kv_role": "kv_both"}
command = """vllm serve Qwen/Qwen3-8B
  --port 8100
  --kv-transfer-config '{"kv_connector": "NixlConnector", "kv_role": "kv_both"}'"""
subprocess.Popen(shlex.split(command))
