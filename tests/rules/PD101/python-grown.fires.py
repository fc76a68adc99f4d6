# pd-test: target=vllm:0.30.0 severity=error

from vllm import AsyncEngineArgs

kv = {"kv_connector": "NixlConnector"}
arguments = {"model": "Qwen/Qwen3-8B"}
arguments["kv_transfer_config"] = kv
engine = AsyncEngineArgs(**arguments)
