"""The machine code of :mod:`streaming`: compiled in a separate process, mapped into this one.

LLVM stays out of the engine's process. Its library would keep 80 MiB there; and once llvmlite is imported, vLLM 0.32.0
starts no further CPU engine in the same process (its kernel overrides look into every module's variables, and stumble
over llvmlite's). Run as a module, this prints the code for the processor that it runs on.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import subprocess
import sys
from collections.abc import Callable
from functools import cache

LINE = 64  # bytes of a cache line, and of the alignment that such stores need
AT_ONCE = 4  # lines
PATIENCE = 60  # seconds for the compiler; it takes less than one
MARK = "machine code: "


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

_PAST = f", align {LINE}, !nontemporal !0"  # what makes a store go past the caches


def compile_here(past_caches: bool = True) -> bytes:
    """Return the function's machine code, which may lie anywhere in memory.

    Args:
        past_caches: its stores go past the caches; else they are ordinary ones.

    Raises:
        ImportError: there is no llvmlite.
        RuntimeError: its LLVM does not take the instructions, or what it makes of them does not stand alone.
    """
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    processor = {"cpu": llvm.get_host_cpu_name(), "features": llvm.get_host_cpu_features().flatten()}
    triple = llvm.Target.from_default_triple()
    machine = triple.create_target_machine(**processor, opt=2, reloc="pic", codemodel="small")
    module = llvm.parse_assembly(_COPY if past_caches else _COPY.replace(_PAST, ", align 1"))
    module.verify()
    sections = llvm.ObjectFileRef.from_data(machine.emit_object(module)).sections()
    found = {section.name().decode(): section.data() for section in sections if section.size()}
    if ".text" not in found or any(name.startswith((".rela.text", ".rodata", ".data")) for name in found):
        raise RuntimeError(f"the code needs more than itself: {', '.join(found)}")
    return bytes(found[".text"])


@cache
def load() -> tuple[Callable[..., None], Callable[..., None]]:
    """Return the compiled function past the caches, and the ordinary one; a call of it lets other threads run.

    Raises:
        OSError: it could not be compiled, or this process may not run what it maps.
        subprocess.SubprocessError: the compiler did not come to an end.
    """
    command = [sys.executable or "python3", "-m", __name__]
    path = {"PYTHONPATH": os.pathsep.join(sys.path), "PYTHONSAFEPATH": "1"}  # it finds what this process finds
    same = {**os.environ, **path}
    done = subprocess.run(command, env=same, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE)
    _, marked, code = done.stdout.rpartition(MARK)
    if done.returncode or not marked:
        raise OSError(f"{' '.join(command)} ended with {done.returncode}: {done.stderr.strip()[-500:]}")
    kind = ctypes.CFUNCTYPE(
        None, ctypes.c_int64, *[ctypes.c_void_p] * 5, ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p
    )
    past, _, near = code.strip().partition(" ")
    return kind(_mapped(bytes.fromhex(past))), kind(_mapped(bytes.fromhex(near)))


def _mapped(code: bytes) -> int:
    """Return the code's address in memory that stays mapped, and is never writable and executable at once."""
    memory = mmap.mmap(-1, len(code), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    memory.write(code)
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mprotect(ctypes.c_void_p(address), ctypes.c_size_t(len(code)), mmap.PROT_READ | mmap.PROT_EXEC):
        raise OSError(ctypes.get_errno(), "memory cannot be made executable")
    _MAPPED.append(memory)
    return address


_MAPPED: list[mmap.mmap] = []

if __name__ == "__main__":
    print(MARK + compile_here().hex(), compile_here(past_caches=False).hex())
