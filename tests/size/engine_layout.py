"""Ask real engines how they lay their KV cache out: one fork for each set of arguments, vLLM imported once.

Reads ``{name: {"arguments": keywords of LLM, "processor": [AMX, AVX512-BF16] or null}}`` from standard input and writes
``{name: what the engine has, or the error with which it did not start}`` to the file that is named. With a processor
torch's checks answer so, whatever the real one has. The models have no weights, and nothing is computed: only the
cache's shape is looked at.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from pathlib import Path
from typing import Any

ENVIRONMENT = {
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "VLLM_NO_USAGE_STATS": "1",
    "VLLM_LOGGING_LEVEL": "ERROR",
    "OMP_NUM_THREADS": "1",
    "HF_HUB_OFFLINE": "1",
}


def layout(arguments: dict[str, Any]) -> dict[str, Any]:
    """Return blocks, bytes, groups and host blocks of the engine with these keywords, and what torch says of AMX."""
    import torch
    from vllm import LLM

    engine = LLM(load_format="dummy", skip_tokenizer_init=True, enforce_eager=True, **arguments).llm_engine
    scheduler = engine.engine_core.engine_core.scheduler
    config, connector = scheduler.kv_cache_config, scheduler.connector
    return {
        "processor": [torch.cpu._is_amx_tile_supported(), torch.cpu._is_avx512_bf16_supported()],
        "num_blocks": config.num_blocks,
        "pool_bytes": pool_bytes(config.kv_cache_tensors),
        "groups": [[len(g.layer_names), type(g.kv_cache_spec).__name__] for g in config.kv_cache_groups],
        "block_size": engine.vllm_config.cache_config.block_size,
        "host_blocks": connector.scheduler.ledger.host.total if connector else None,
    }


def pool_bytes(tensors: list[Any]) -> int:
    """Return the bytes of all blocks. Newer releases give each tensor's whole allocation, which they share."""
    sizes = [int(tensor.size) for tensor in tensors]
    return max(sizes) if hasattr(tensors[0], "layer_stride") else sum(sizes)


def pretend(processor: list[bool]) -> None:
    """Let torch answer as on a processor with or without AMX and AVX512-BF16."""
    import torch

    amx, bf16 = processor
    torch.cpu._is_amx_tile_supported = lambda: amx
    torch.cpu._is_avx512_bf16_supported = lambda: bf16


def main(target: Path) -> None:
    """Run all sets of arguments, one after the other."""
    os.environ.update(ENVIRONMENT)
    os.environ.pop("VLLM_CPU_KVCACHE_SPACE", None)  # it goes before kv_cache_memory_bytes
    import vllm  # noqa: F401  # imported once, before the forks

    found: dict[str, Any] = {}
    for name, case in json.load(sys.stdin).items():
        part = target.with_suffix(".part")
        part.unlink(missing_ok=True)
        child = os.fork()
        if child == 0:
            try:
                if case["processor"] is not None:
                    pretend(case["processor"])
                part.write_text(json.dumps(layout(case["arguments"])))
            except BaseException as error:  # noqa: BLE001  # whatever it was, the other cases still run
                traceback.print_exc()
                part.write_text(json.dumps({"error": f"{type(error).__name__}: {error}"}))
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        found[name] = json.loads(part.read_text()) if part.exists() else {"error": "the engine died"}
        target.write_text(json.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
