"""The bundled connector made wrong on purpose: it restores each request's blocks in reversed order.

The negative control of every check that says "identical": with this one it must say no. It goes by the same class name,
so that only ``kv_connector_module_path: bench.reversed_restore`` is to be changed, with the checkout on PYTHONPATH.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from pd_launch.connector import RecomputeCPUOffloadConnector as Bundled


class RecomputeCPUOffloadConnector(Bundled):
    """Copies the right blocks, to the wrong places among those of their request."""

    def start_load_kv(self, forward_context: Any, **kwargs: Any) -> None:
        if self.worker and self._step:
            loads = [dataclasses.replace(load, device=load.device[::-1]) for load in self._step.loads]
            self.worker.load(dataclasses.replace(self._step, loads=loads))
