"""The process that checks: jobs come in on standard input, answers go out on standard output, each with its length.

A process of its own: no check, however slow or large, keeps the editor waiting, and one that fails takes nothing with
it. It ends when the server does, as its standard input then ends.
"""

from __future__ import annotations

import gc
import os
import pickle
import struct
import sys
import traceback
from typing import BinaryIO

from pd_launch.launcher.lsp.model import Answer, Job, Settings

HEAD = struct.Struct(">Q")
_WARM = """vllm serve /models/m --tensor-parallel-size 2 --max-num-seqs 8 \\
  --kv-transfer-config '{"kv_connector": "NixlConnector", "kv_role": "kv_both", "x": 1}'
"""
"""Checked before there is a file, so that the first one finds the tables loaded."""


def main() -> None:
    """Do jobs until there are no more. The first message is the settings."""
    incoming = sys.stdin.buffer
    outgoing = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever is printed by mistake must not get between answers
    settings = receive(incoming)
    if isinstance(settings, Settings):
        _serve(settings, incoming, outgoing)


def _serve(settings: Settings, incoming: BinaryIO, outgoing: BinaryIO) -> None:
    from pd_launch.launcher.check.run import run_checks
    from pd_launch.launcher.lsp.examine import Examiner
    from pd_launch.launcher.rules.registry import all_rules
    from pd_launch.launcher.sources.read import read_texts

    examiner = Examiner(settings)
    all_rules()
    run_checks(read_texts({"warm.sh": _WARM}))
    gc.freeze()
    while isinstance(job := receive(incoming), Job):
        answer: Answer | str
        try:
            answer = examiner.do(job)
        except Exception as error:  # noqa: BLE001 - said in the editor's log; the next job is done all the same
            answer = fault(error)
        send(outgoing, answer)


def fault(error: BaseException) -> str:
    """Return where an error came from. Its own words stay out: they may hold a part of the input."""
    frames = traceback.extract_tb(error.__traceback__)
    places = [f"{_short(frame.filename)}:{frame.lineno}" for frame in frames[-6:]]
    return f"{type(error).__name__} at {' < '.join(reversed(places))}"


def _short(path: str) -> str:
    for folder in ("/pd_launch/", "/site-packages/", "/lib/"):
        path = path.rpartition(folder)[2]
    return path


def receive(stream: BinaryIO) -> object:
    """Return the next message; None where there are no more."""
    head = stream.read(HEAD.size)
    if len(head) < HEAD.size:
        return None
    (size,) = HEAD.unpack(head)
    data = stream.read(size)
    return pickle.loads(data) if len(data) == size else None


def packed(message: object) -> bytes:
    """Return a message as it is sent."""
    data = pickle.dumps(message)
    return HEAD.pack(len(data)) + data


def send(stream: BinaryIO, message: object) -> None:
    """Send a message."""
    stream.write(packed(message))
    stream.flush()
