"""The build that is installed here, found without importing it: of this Python, or of the one that vllm runs under."""

from __future__ import annotations

import sys
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

from pd_launch.launcher.builds.build import Build, BuildError, build_of, read_build
from pd_launch.launcher.builds.find import PACKAGES
from pd_launch.schemas.core.lazy import lazy_pattern

_WORD = lazy_pattern(r"[^\s\"'!]+")
_HEAD = 1024


def installed_build(program: str | None = None) -> Build | None:
    """Return the installed build; None where neither vllm nor vllm_ascend is installed.

    ``program`` is the ``vllm`` that a launch starts: the build is that of the Python which runs it. Without it, and
    where the program does not say, it is that of the running Python.
    """
    python = _python_of(program) if program is not None else None
    if python is not None and not _is_running(python):
        try:
            return read_build(python.parent.parent, "")
        except BuildError:
            return None
    return _of_running()


@lru_cache(maxsize=1)
def _of_running() -> Build | None:
    roots = {project: root for project, package in PACKAGES.items() if (root := _root(package)) is not None}
    return build_of(roots, "")


def _root(package: str) -> Path | None:
    """Return the folder that holds an importable package; a top-level name is looked up without importing it."""
    try:
        spec = find_spec(package)
    except (ImportError, AttributeError, ValueError):
        return None
    if spec is None or not spec.origin or not spec.origin.endswith("__init__.py"):
        return None
    return Path(spec.origin).parent.parent


def _python_of(program: str) -> Path | None:
    """Return the Python in the first lines of a script: ``#!/venv/bin/python``, or pip's way around a long path."""
    try:
        with Path(program).open("rb") as file:
            head = file.read(_HEAD).decode("utf-8", "replace")
    except OSError:
        return None
    lines = head.splitlines()[:3]
    if not lines or not lines[0].startswith("#!"):
        return None
    words = _WORD.findall("\n".join(lines if lines[0].endswith("/sh") else lines[:1]))
    paths = [Path(word) for word in words if word.startswith("/")]
    return next((path for path in paths if path.name.startswith(("python", "pypy"))), None)


def _is_running(python: Path) -> bool:
    """Whether a Python has the packages of the running one: the same folder, whatever its name there."""
    return python.parent.resolve() == Path(sys.executable).parent.resolve()
