# pd-test: target=vllm:0.27.1 line=9
from vllm import LLM
from vllm.config import KVTransferConfig

llm = LLM(
    model="Qwen/Qwen3-8B",
    kv_transfer_config=KVTransferConfig.from_cli(
        '{"kv_connector": "NixlConnector", "kv_role": "kv_both", "kv_buffer_device": "cuda", '
        '"kv_extra_config": {"backends": ["UCX"], "num_threads": 4, "enforce_handshake_compat": false}}'
    ),
)
