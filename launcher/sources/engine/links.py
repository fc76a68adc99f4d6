"""Programs that a script gives another name: ``ln -s $(which vllm) x``, ``cp``, ``hash -p``; then ``x serve …``."""

from __future__ import annotations

import posixpath
from dataclasses import replace

from pd_launch.launcher.sources.engine.wrapped import is_vllm, unwrap
from pd_launch.launcher.sources.shell.model import Command

_GIVES = ("ln", "cp", "mv", "install", "hash", "link")
_TO_FOLDER = ("-t", "--target-directory")


class Links:
    """The other names of vllm in one script."""

    def __init__(self) -> None:
        self._paths: set[str] = set()
        self._names: set[str] = set()

    def followed(self, command: Command) -> Command:
        """Take in the name that a command gives; return the command with vllm in the place of such a name."""
        words, _ = unwrap(command.words)
        if not words:
            return command
        if words[0].value.rpartition("/")[2] in _GIVES:
            operands = [word for word in words[1:] if not word.value.startswith("-")]
            at = next((at for at, word in enumerate(operands[:-1]) if is_vllm(word)), None)
            if at is not None and not any(word.value in _TO_FOLDER for word in words):
                self._paths.add(posixpath.normpath(operands[-1].value))
                self._names.add(posixpath.basename(operands[-1].value))
            return command
        if not self._is_one(words[0].value):
            return command
        first = next(at for at, word in enumerate(command.words) if word is words[0])
        before, behind = command.words[:first], command.words[first + 1 :]
        return replace(command, words=command.words.having([*before, words[0].stand_in("vllm"), *behind]))

    def _is_one(self, called: str) -> bool:
        """Whether a command calls such a file: by its path, or by its name alone, which is looked for in ``PATH``."""
        return posixpath.normpath(called) in self._paths or ("/" not in called and called in self._names)
