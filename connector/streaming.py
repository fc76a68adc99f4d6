"""Rows of bytes copied past the caches, for a KV cache in CPU memory.

An ordinary store first reads the line that it is about to overwrite, so a copy that is larger than the caches moves
three bytes for each one it copies. Neither numpy nor torch offers a copy of rows without that, so the few instructions
that do are compiled when a cache is registered, by llvmlite, which comes with vLLM's numba. Only on x86-64, where it
was measured (docs/performance.md); elsewhere, or where anything about it is missing, numpy copies.
"""

from __future__ import annotations

import ctypes
import platform
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
import torch

LINE = 64  # bytes of a cache line, and of the alignment that such stores need
AT_ONCE = 4  # lines
LEAST_BYTES = 16 << 20  # from here on it is no slower even where all of it was in the caches

Ids = np.ndarray[tuple[int], np.dtype[np.int64]]


def _lines(name: str, count: int) -> str:
    """Return the instructions that copy ``count`` lines from %from + %at to %to + %at: all loads, then all stores."""
    loads, stores = [], []
    for k in range(count):
        n = f"{name}.{k}"
        loads += [
            f"%offset.{n} = add i64 %at, {k * LINE}",
            f"%from.{n} = getelementptr i8, ptr %from, i64 %offset.{n}",
            f"%line.{n} = load <8 x i64>, ptr %from.{n}, align 1",
        ]
        stores += [
            f"%to.{n} = getelementptr i8, ptr %to, i64 %offset.{n}",
            f"store <8 x i64> %line.{n}, ptr %to.{n}, align {LINE}, !nontemporal !0",
        ]
    return "\n  ".join(loads + stores)


def _element(name: str, kind: str, array: str, index: str) -> str:
    """Return the instructions that read %name = %array[%index]."""
    return f"%{name}_at = getelementptr {kind}, ptr %{array}, i64 %{index}\n  %{name} = load {kind}, ptr %{name}_at"


# Copies row source_ids[i] of each region to row target_ids[i] of the other side's region.
# The fence makes the stores visible before the caller goes on.
_COPY = f"""
declare void @llvm.x86.sse.sfence()

define void @copy(i64 %regions, ptr %sources, ptr %targets, ptr %source_strides, ptr %target_strides, ptr %widths,
                  i64 %rows, ptr %source_ids, ptr %target_ids) {{
entry:
  br label %region
region:
  %r = phi i64 [0, %entry], [%next_r, %after_rows]
  %last_r = icmp eq i64 %r, %regions
  br i1 %last_r, label %exit, label %in_region
in_region:
  {_element("source", "ptr", "sources", "r")}
  {_element("target", "ptr", "targets", "r")}
  {_element("source_stride", "i64", "source_strides", "r")}
  {_element("target_stride", "i64", "target_strides", "r")}
  {_element("width", "i64", "widths", "r")}
  br label %row
row:
  %i = phi i64 [0, %in_region], [%next_i, %after_row]
  %last_i = icmp eq i64 %i, %rows
  br i1 %last_i, label %after_rows, label %in_row
in_row:
  {_element("source_id", "i64", "source_ids", "i")}
  {_element("target_id", "i64", "target_ids", "i")}
  %source_offset = mul i64 %source_id, %source_stride
  %target_offset = mul i64 %target_id, %target_stride
  %from = getelementptr i8, ptr %source, i64 %source_offset
  %to = getelementptr i8, ptr %target, i64 %target_offset
  br label %piece
piece:
  %at = phi i64 [0, %in_row], [%at_many, %many], [%at_one, %one]
  %at_many = add i64 %at, {AT_ONCE * LINE}
  %at_one = add i64 %at, {LINE}
  %fits = icmp ule i64 %at_many, %width
  br i1 %fits, label %many, label %rest
many:
  {_lines("many", AT_ONCE)}
  br label %piece
rest:
  %over = icmp eq i64 %at, %width
  br i1 %over, label %after_row, label %one
one:
  {_lines("one", 1)}
  br label %piece
after_row:
  %next_i = add i64 %i, 1
  br label %row
after_rows:
  %next_r = add i64 %r, 1
  br label %region
exit:
  call void @llvm.x86.sse.sfence()
  ret void
}}

!0 = !{{i32 1}}
"""


@cache
def _compiled() -> tuple[Callable[..., None], Any]:
    """Return the function, and its owner, which must stay; the call lets other threads run.

    Raises:
        ImportError: there is no llvmlite.
        RuntimeError: its LLVM does not take the instructions.
    """
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(), opt=2
    )
    module = llvm.parse_assembly(_COPY)
    module.verify()
    owner = llvm.create_mcjit_compiler(module, machine)
    owner.finalize_object()
    kind = ctypes.CFUNCTYPE(
        None, ctypes.c_int64, *[ctypes.c_void_p] * 5, ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p
    )
    return kind(owner.get_function_address("copy")), owner


class StreamingCopy:
    """Copies rows of all regions of one side to the other's, in one call.

    Args:
        source: uint8 views [blocks, width].
        target: uint8 views [blocks, width], as many, each as wide as its source and aligned to cache lines.

    Raises:
        ImportError: there is no llvmlite.
        RuntimeError: its LLVM does not take the instructions.
    """

    def __init__(self, source: Sequence[torch.Tensor], target: Sequence[torch.Tensor]) -> None:
        self._copy, _ = _compiled()
        self._tensors = [*source, *target]  # the addresses are theirs
        self._widths = _numbers([int(region.shape[1]) for region in target])
        addresses = [_numbers([r.data_ptr() for r in side]) for side in (source, target)]
        strides = [_numbers([r.stride(0) for r in side]) for side in (source, target)]
        self._arrays = [*addresses, *strides, self._widths]
        self._pointers = [array.ctypes.data for array in self._arrays]
        self._blocks = tuple(min(int(r.shape[0]) for r in side) for side in (source, target))
        self._row = int(self._widths.sum())

    def takes(self, rows: int) -> bool:
        """Whether so many rows are better copied this way."""
        return rows * self._row >= LEAST_BYTES

    def copy(self, source: Ids, target: Ids) -> None:
        """Copy row ``source[i]`` to row ``target[i]``, for all i and all regions; it is over when this returns.

        Raises:
            ValueError: there is no such row, or not as many of one as of the other.
        """
        if len(source) != len(target):
            raise ValueError(f"{len(source)} rows cannot be copied to {len(target)}")
        for ids, blocks in zip((source, target), self._blocks, strict=True):
            if len(ids) and not 0 <= int(ids.min()) <= int(ids.max()) < blocks:
                raise ValueError(f"rows {int(ids.min())} to {int(ids.max())} do not exist, {blocks} do")
        source, target = (np.ascontiguousarray(ids, dtype=np.int64) for ids in (source, target))
        self._copy(
            len(self._widths),
            *self._pointers,
            len(source),
            source.ctypes.data,
            target.ctypes.data,
        )


def _numbers(values: Sequence[int]) -> Ids:
    return np.asarray(values, dtype=np.int64)


def streaming(source: Sequence[torch.Tensor], target: Sequence[torch.Tensor]) -> StreamingCopy | None:
    """Return a way from source to target past the caches, None where there is none for this machine or these rows."""
    if platform.machine() not in ("x86_64", "AMD64"):
        return None
    if any(region.shape[1] % LINE or region.stride(1) != 1 for region in (*source, *target)):
        return None
    if any(region.data_ptr() % LINE or region.stride(0) % LINE for region in target):
        return None
    try:
        return StreamingCopy(source, target)
    except (ImportError, RuntimeError, OSError):
        return None
