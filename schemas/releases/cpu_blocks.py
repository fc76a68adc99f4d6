"""What vLLM on CPU makes of a block size and of a recurrent state, which the processor decides as well.

Source: check_and_update_config of vllm/platforms/cpu.py, and get_supported_kernel_block_sizes of the backends cpu_attn,
cpu_mla and amx_mla, at 0.27.1 and 0.32.0. Run on both, with torch's checks of the processor answering either way.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.target import Target
from pd_launch.schemas.releases.stock import CPU_BLOCKS_OF_32, CPU_MLA_AMX, CPU_STATE_BY_BF16

CPU_BLOCK = 128
"""The block size where none is written."""
MLA_BLOCK = 16
"""The only block size of MLA without AMX, whatever is asked for."""


class Processor(NamedTuple):
    """What vLLM asks of the processor: its instructions for tiles, and for bfloat16 in AVX-512."""

    name: Msg
    amx: bool
    bf16: bool


PROCESSORS = (
    Processor(Msg("without AVX512-BF16", "没有 AVX512-BF16 时"), False, False),
    Processor(Msg("with AVX512-BF16 but without AMX", "有 AVX512-BF16 而没有 AMX 时"), False, True),
    Processor(Msg("with AMX", "有 AMX 时"), True, True),
)


def named(processors: Sequence[Processor]) -> Msg:
    """Return how some, but not all, of PROCESSORS are named together."""
    if len(processors) == 1:
        return processors[0].name
    if any(one.amx for one in processors):
        return Msg("with AVX512-BF16", "有 AVX512-BF16 时")
    return Msg("without AMX", "没有 AMX 时")


def processor_of(amx: bool, bf16: bool) -> Processor:
    """Return the processor for which torch says so."""
    return PROCESSORS[2 if amx else 1 if bf16 else 0]


def cpu_step(target: Target) -> int:
    """Return the tokens of which every block is a multiple, MLA without AMX apart."""
    return 32 if CPU_BLOCKS_OF_32.holds(target) else 16


def cpu_block(written: int, mla: bool, hybrid: bool, target: Target, processor: Processor) -> int | None:
    """Return the tokens of a block, or None where vLLM refuses to start. Hybrid models have theirs rounded up."""
    if mla and not (processor.amx and CPU_MLA_AMX.holds(target)):
        return MLA_BLOCK
    return written if hybrid or written % cpu_step(target) == 0 else None


def cpu_state_bytes(asked: int | None, delta_net: bool, target: Target, processor: Processor) -> int | None:
    """Return the bytes of an element of a recurrent state, or None where the model decides.

    Args:
        asked: what --mamba-ssm-cache-dtype asks for; None: nothing.
        delta_net: whether it is the state of a gated delta net, whose kernels take 16 bits too where they are asked.
        target: the release.
        processor: the processor.
    """
    if not CPU_STATE_BY_BF16.holds(target):
        return 4 if processor.amx else asked
    if not processor.bf16 or (delta_net and asked == 2):
        return asked
    return 4
