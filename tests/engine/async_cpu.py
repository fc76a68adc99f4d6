"""Importing this makes async scheduling real on the CPU, where vLLM switches it off without a word.

The platform's check resets the option, so it is put back after it. The model runner stays synchronous: it finishes a
step before it starts on the next one's SchedulerOutput, which the scheduler has made ahead by then.
"""

from __future__ import annotations

from typing import Any

from vllm.platforms.cpu import CpuPlatform
from vllm.v1.worker.cpu_model_runner import CPUModelRunner

_checked = CpuPlatform.check_and_update_config.__func__
_made = CPUModelRunner.__init__


def _check(cls: Any, config: Any) -> None:
    wish = config.scheduler_config.async_scheduling
    _checked(cls, config)
    config.scheduler_config.async_scheduling = wish


def _make(self: Any, *args: Any, **kwargs: Any) -> None:
    _made(self, *args, **kwargs)
    self.use_async_scheduling = False


CpuPlatform.check_and_update_config = classmethod(_check)
CPUModelRunner.__init__ = _make
