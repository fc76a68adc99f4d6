"""The launch itself: the last looks at the host, then ``exec``: PID, signals and status are the engine's own."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from pd_launch.launcher.plan import PROGRAM

REFUSED = 78
"""Exit status of a refused launch (EX_CONFIG); ``RestartPreventExitStatus=78`` keeps systemd from retrying."""


class Refused(Exception):
    """The launch cannot go on; the message says why and what to do."""


def find_program() -> str:
    """Return the path of ``vllm``: beside the running Python first, then on PATH.

    Raises:
        Refused: there is none.
    """
    beside = shutil.which(PROGRAM, path=str(Path(sys.executable).parent))
    found = beside or shutil.which(PROGRAM)
    if found is None:
        raise Refused(
            f"{PROGRAM} is neither beside {sys.executable} nor on PATH: install vLLM, or run pd-launch where it is"
        )
    return found


def check_model(model: str) -> None:
    """Look for a local model; a hub name is not looked at.

    Raises:
        Refused: ``model`` is a path (it starts with ``/``, ``./`` or ``../``) and is not there.
    """
    if model.startswith(("/", "./", "../")) and not Path(model).exists():
        raise Refused(f"the model {model} is not there")


def changed_variables(wanted: Mapping[str, str], present: Mapping[str, str]) -> list[str]:
    """Return the names of variables that are already set to something else."""
    return [name for name, value in wanted.items() if present.get(name, value) != value]


def exec_engine(argv: Sequence[str], env: Mapping[str, str]) -> None:
    """Become the engine. ``argv[0]`` is the program's path; ``env`` is added to the present environment.

    Raises:
        Refused: the program cannot be executed.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    try:
        os.execvpe(argv[0], list(argv), {**os.environ, **env})
    except OSError as error:
        raise Refused(f"{argv[0]} cannot be executed: {error.strerror}") from None
    except ValueError as error:  # a NUL byte in a word or a variable
        raise Refused(f"the command cannot be passed on: {error}") from None
