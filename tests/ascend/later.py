"""Serve requests under the recompute scheduler of a later vllm-ascend, with the Python code of the vLLM that it is for.

    python -m tests.ascend.later unpack DIR VLLM_ZIP ASCEND_ZIP
    PYTHONPATH=DIR VLLM_TARGET_DEVICE=cpu python -m tests.ascend.later serve

``unpack`` puts both packages beside each other, with the C extensions of the vLLM that is installed: nothing of them is
called here, some modules only look for them. ``serve`` prints one line of JSON after all else.
"""

from __future__ import annotations

import importlib.util
import json
import sys
import zipfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

BUDGET = 1 << 22
LAYOUTS = {"K and V apart": 24, "hybrid": 20}  # and how few blocks make them preempt


def unpack(target: Path, *archives: Path) -> None:
    """Extract the Python files of both archives, in which paths are as in site-packages."""
    for archive in archives:
        with zipfile.ZipFile(archive) as file:
            names = [n for n in file.namelist() if n.startswith(("vllm/", "vllm_ascend/")) and n.endswith(".py")]
            file.extractall(target, names)
    spec = importlib.util.find_spec("vllm")
    assert spec is not None and spec.origin is not None
    installed = Path(spec.origin).parent
    for library in installed.rglob("*.so"):
        link = target / "vllm" / library.relative_to(installed)
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(library)


def ours(budget: int = BUDGET, **extra: Any) -> dict[str, Any]:
    """Return the connector's part of kv_transfer_config."""
    return {
        "kv_connector": "RecomputeCPUOffloadConnector",
        "kv_connector_module_path": "pd_launch.connector",
        "kv_connector_extra_config": {"cpu_bytes_to_use_per_rank": budget, **extra},
    }


def _on_an_npu() -> None:
    """The connector takes the platform for an NPU; host memory is not pinned, since there is nothing to pin it for."""
    import torch

    from pd_launch.connector import connector

    connector.current_platform = SimpleNamespace(device_type="npu")  # type: ignore[assignment]
    zeros: Any = torch.zeros

    def unpinned(*args: Any, **more: Any) -> Any:
        more.pop("pin_memory", None)
        return zeros(*args, **more)

    torch.zeros = unpinned


def _one(name: str, hook: Any = None, **more: Any) -> dict[str, Any]:
    from tests.ascend.engine import Engine, Work
    from tests.ascend.stand_in import SCHEDULER, ascend

    work = Work(**more)
    kind = "AsyncRecomputeScheduler" if work.asynchronous else "RecomputeScheduler"
    engine = Engine(work, getattr(ascend(SCHEDULER), kind))
    if hook is not None:
        engine.scheduler.connector.update_state_before_preempt = hook
    outcome = engine.serve()
    side = getattr(outcome.connector, "scheduler", None)
    held = side and [len(side.ledger.copies), len(side.ledger.tables), side.ledger.host.total - side.ledger.host.free]
    pool = engine.scheduler.kv_cache_manager.block_pool
    return {
        "name": name,
        "tokens": outcome.tokens,
        "reasons": sorted(set(outcome.reasons.values())),
        "preempted": outcome.preempted,
        "recomputed": outcome.recomputed(work),
        "held": held,
        "device": pool.num_gpu_blocks - 1 - pool.get_num_free_blocks(),
    }


def _split(ranks: int) -> None:
    """Say to releases that ask that o_proj is split over so many ranks: then no request may go back to prefill."""
    from tests.ascend.stand_in import SCHEDULER, ascend

    sizes = SimpleNamespace(oproj_tensor_parallel_size=ranks, mlp_tensor_parallel_size=1)
    ascend(SCHEDULER).get_ascend_config = lambda: SimpleNamespace(finegrained_tp_config=sizes)


def _raise(*_: Any) -> bool:
    raise OSError("no host memory")


def serve() -> list[dict[str, Any]]:
    """Serve every case."""
    _on_an_npu()
    few = 6 * 2 * 2 * 32 * 2 * 32 * 2  # six blocks of the layout
    out = []
    for layout, blocks in LAYOUTS.items():
        out.append(_one(f"{layout}: plenty", layout=layout, blocks=200))
        some = {"layout": layout, "blocks": blocks}
        out.append(_one(f"{layout}: sync", connector=ours(), **some))
        out.append(_one(f"{layout}: async", asynchronous=True, connector=ours(), **some))
        out.append(_one(f"{layout}: beside", asynchronous=True, connector=ours(async_restore_bytes=0), **some))
    out.append(_one("caching", prefix_caching=True, connector=ours(enable_offload_prefix_caching=True)))
    out.append(_one("few", connector=ours(few)))
    wrong = {**ours(), "kv_connector": "ReversedRestoreConnector", "kv_connector_module_path": "tests.engine.faulty"}
    out.append(_one("reversed", connector=wrong))
    for name, ranks in (("raises", 1), ("raises, split", 2)):
        _split(ranks)
        out.append(_one(name, hook=_raise, connector=ours()))
    return out


def main() -> None:
    """See the module's docstring."""
    if sys.argv[1] == "unpack":
        unpack(*map(Path, sys.argv[2:]))
        return
    from tests.ascend.stand_in import SCHEDULER, ascend

    ascend(SCHEDULER)
    import vllm

    print("\n" + json.dumps({"vllm": vllm.__file__, "cases": serve()}), flush=True)


if __name__ == "__main__":
    main()
