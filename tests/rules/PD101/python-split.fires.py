# pd-test: target=vllm:0.30.0 severity=error
import shlex
import subprocess

kv = {"kv_connector": "NixlConnector"}
command = """vllm serve Qwen/Qwen3-8B
  --port 8100
  --kv-transfer-config '{"kv_connector": "NixlConnector"}'"""
subprocess.Popen(shlex.split(command))
