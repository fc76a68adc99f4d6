"""What a unit repeats of the command line that printed it, with variables in place of secrets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pd_launch.launcher.launch.plan import Part, command_words, environment, variable_name
from pd_launch.launcher.secrets.masking import Held, is_secret, is_secret_flag
from pd_launch.schemas.core.launch import NodeLaunch

UnitWord = str | Sequence[Part]


class Given:
    """The words of ``--set`` and after ``--``. ``asked`` are the variables of the launches' own secrets."""

    def __init__(self, launches: Sequence[NodeLaunch]) -> None:
        self._held = Held.of(launches)
        words = [word for launch in launches for word in command_words(launch, self._held) if word.secret]
        values = [(name, value) for launch in launches for name, value in environment(launch).items()]
        self.asked = {name for name, value in values if self._held.variable(name, value)}
        self.asked |= {name for word in words for name in word.asks}

    def setting(self, setting: str) -> UnitWord:
        """Return a ``--set KEY=VALUE``."""
        key, _, value = setting.partition("=")
        name = key.strip().rpartition(".")[2]
        if not (is_secret(name) or is_secret_flag(name) or self._shows(value)):
            return setting
        return (Part(f"{key}="), Part(value, variable_name(name)))

    def extra(self, words: Sequence[str]) -> Iterator[UnitWord]:
        """Iterate over the words after ``--``."""
        flag, count = "", 0
        for word in words:
            name, sign, value = word.partition("=")
            if word.startswith("-"):
                flag, count = name, 0
                if sign and (is_secret_flag(flag) or self._shows(value)):
                    yield (Part(f"{name}="), Part(value, variable_name(flag.lstrip("-"))))
                else:
                    yield word
                continue
            count += 1
            if is_secret_flag(flag) or self._shows(word):
                asked = variable_name(flag.lstrip("-") or "model")
                yield (Part(word, f"{asked}_{count}" if count > 1 else asked),)
            else:
                yield word

    def _shows(self, text: str) -> bool:
        """Whether a value shows a secret, by names inside it too, as in JSON."""
        return self._held.shown(text) != text
