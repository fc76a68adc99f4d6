"""Runs pd-launch's own command in the browser: files go in, and what the command prints comes out."""

from __future__ import annotations

import contextlib
import io
import json
import os
import shutil
import sys
from pathlib import Path

HERE = Path("/files")


def start(parse: object) -> str:
    """Let scripts be read by a parser of JavaScript's, and return the version."""
    import pd_launch
    from pd_launch.launcher.sources.shell.flat import FlatParser
    from pd_launch.launcher.sources.shell.parser import use_parser

    def flat(text: str) -> tuple[list[str], memoryview]:
        kinds, numbers = parse(text)
        return kinds.to_py(), numbers.to_py()

    use_parser(FlatParser(flat))
    return pd_launch.__version__


def run(asked: str) -> str:
    """Run a command over some files.

    Args:
        asked: JSON with ``args``, the words of the command, and ``files``, texts by name.

    Returns:
        JSON with ``status``, ``out``, ``err`` and ``files``: the texts afterwards.
    """
    given = json.loads(asked)
    os.chdir("/")
    shutil.rmtree(HERE, ignore_errors=True)
    HERE.mkdir()
    for name, text in given["files"].items():
        path = HERE / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode("utf-8", "surrogatepass"))
    os.chdir(HERE)
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", newline="") for _ in range(2))
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = _status(given["args"])
    texts = {name: (HERE / name).read_bytes().decode("utf-8", "surrogatepass") for name in given["files"]}
    return json.dumps({"status": status, "out": _said(out), "err": _said(err), "files": texts})


def _status(args: list[str]) -> int:
    from pd_launch.launcher.cli import main

    sys.argv = ["pd-launch", *args]
    try:
        main()
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    return 0


def _said(stream: io.TextIOWrapper) -> str:
    stream.flush()
    return stream.buffer.getvalue().decode("utf-8")
