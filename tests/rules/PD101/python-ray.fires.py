# pd-test: target=vllm:0.30.0 severity=error

from ray.serve.llm import LLMConfig

kv = {"kv_connector": "NixlConnector"}
config = LLMConfig(
    model_loading_config={"model_id": "Qwen/Qwen3-8B"}, engine_kwargs={"enforce_eager": True, "kv_transfer_config": kv}
)
