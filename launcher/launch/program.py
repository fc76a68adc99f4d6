"""The launch itself: the last looks at the host, then ``exec``: PID, signals and status are the engine's own."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from pd_launch.launcher.launch.plan import PROGRAM
from pd_launch.schemas.core.msg import Msg

OWN_NAME = "pd-launch"
REFUSED = 78
"""Exit status of a refused launch (EX_CONFIG); ``RestartPreventExitStatus=78`` keeps systemd from retrying."""


class Refused(Exception):
    """The launch cannot go on; ``said`` says why and what to do, ``str(error)`` in English."""

    def __init__(self, said: Msg) -> None:
        super().__init__(said.en)
        self.said = said


def find_program() -> str:
    """Return the path of ``vllm``: beside the running Python first, then on PATH.

    Raises:
        Refused: there is none that can be executed.
    """
    folders = [Path(sys.executable).parent, *map(Path, os.get_exec_path())]
    found = shutil.which(PROGRAM, path=str(folders[0])) or shutil.which(PROGRAM)
    if found is not None:
        return found
    blocked = next((path for folder in folders if (path := folder / PROGRAM).is_file()), None)
    if blocked is not None:
        raise Refused(
            Msg(
                f"{blocked} is not executable: chmod +x {shlex.quote(str(blocked))}, or install vLLM again",
                f"{blocked} 不可执行：请运行 chmod +x {shlex.quote(str(blocked))}，或重新安装 vLLM",
            ),
        )
    raise Refused(
        Msg(
            (
                f"{PROGRAM} is neither next to {sys.executable} nor on PATH: install vLLM, or run pd-launch where it "
                "is installed"
            ),
            f"{sys.executable} 旁边和 PATH 上都没有 {PROGRAM}：请安装 vLLM，或在装有它的环境里运行 pd-launch",
        ),
    )


def own_command() -> list[str]:
    """Return the words that start the pd-launch that is running, by its whole path, wherever it is started from."""
    named = shutil.which(sys.argv[0]) if Path(sys.argv[0]).name == OWN_NAME else None
    found = named or shutil.which(OWN_NAME, path=str(Path(sys.executable).parent))
    return [str(Path(found).absolute())] if found else [sys.executable, "-m", "pd_launch"]


def check_model(model: str) -> None:
    """Look for a local model; a hub name is not looked at.

    Raises:
        Refused: ``model`` is a path (it starts with ``/``, ``./`` or ``../``) and is not there.
    """
    if model.startswith(("/", "./", "../")) and not Path(model).exists():
        raise Refused(Msg(f"the model {model} does not exist", f"模型不存在：{model}"))


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
        en = f"{argv[0]} cannot be executed: {error.strerror}"
        raise Refused(Msg(en, f"{argv[0]} 无法执行：{error.strerror}")) from None
    except ValueError as error:  # a NUL byte in a word or a variable
        raise Refused(Msg(f"the command cannot be passed on: {error}", f"命令无法传递：{error}")) from None
