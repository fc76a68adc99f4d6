"""A systemd unit that starts one node's engines through pd-launch itself, which checks them first."""

from __future__ import annotations

import math
from collections.abc import Sequence

from pd_launch.launcher.formats.words import shell_word
from pd_launch.launcher.launch.plan import Part
from pd_launch.launcher.launch.program import REFUSED
from pd_launch.launcher.wording.width import shows_all
from pd_launch.schemas.core.record import dataclass

WATCHDOG_SECONDS = 120
"""More than three looks at the engines' health take."""
CANN = (
    "/usr/local/Ascend/ascend-toolkit/set_env.sh",
    "/usr/local/Ascend/ascendnpu-ir/bin/set_env.sh",
    "/usr/local/Ascend/nnal/atb/set_env.sh",
)
"""The scripts that the entrypoint of Ascend's images sources; one that is not installed is passed over."""


@dataclass(frozen=True)
class Unit:
    """What the unit runs: the words of the pd-launch command, and the secrets that a file of its own sets.

    A part of a word that is secret is a variable, which systemd fills in from that file.
    """

    name: str
    side: str
    words: Sequence[str | Sequence[Part]]
    secrets: Sequence[str]
    stop_seconds: int
    ascend: bool = False
    """Whether CANN's own scripts are sourced first, as the images do."""
    notify: bool = False
    """Whether pd-launch says itself when all engines are ready, and that they are well."""
    ready_timeout: float | None = None


def systemd_unit(unit: Unit) -> str:
    """Return the unit. It is started again however it ended, for a broken engine ends with status 0 too.

    What an operator stops stays stopped, and a launch that was refused would be refused again. Tries get rarer, to one
    in five minutes; a systemd older than 254 does not know that and tries every ten seconds.
    """
    if unit.ascend:
        command = f"/bin/bash -c {quoted(_sourcing(unit.words))}"
    else:
        command = " ".join(quoted(word) if isinstance(word, str) else composed(word) for word in unit.words)
    lines = [
        "[Unit]",
        f"Description=vLLM {unit.side} engines of {unit.name}",
        "Wants=network-online.target",
        "After=network-online.target",
        "",
        "[Service]",
        *_kind(unit),
        f"ExecStart={command}",
        "Restart=always",
        "RestartSec=10",
        "RestartSteps=6",
        "RestartMaxDelaySec=300",
        f"RestartPreventExitStatus={REFUSED}",
        "KillMode=mixed",
        f"TimeoutStopSec={unit.stop_seconds}",
        "LimitMEMLOCK=infinity",
        "LimitNOFILE=1048576",
    ]
    lines += [f"# {', '.join(unit.secrets)}"] if unit.secrets else []
    lines.append(f"EnvironmentFile={'' if unit.secrets else '-'}/etc/pd-launch/{unit.name}.env")
    return "\n".join([*lines, "", "[Install]", "WantedBy=multi-user.target"]) + "\n"


def _kind(unit: Unit) -> list[str]:
    """Return when the unit counts as started, and how it says that it is well."""
    if not unit.notify:
        return ["Type=exec"]
    start = "infinity" if unit.ready_timeout is None else str(math.ceil(unit.ready_timeout) + unit.stop_seconds)
    # A process below the one that systemd starts speaks to it.
    return ["Type=notify", "NotifyAccess=all", f"TimeoutStartSec={start}", f"WatchdogSec={WATCHDOG_SECONDS}"]


def _sourcing(words: Sequence[str | Sequence[Part]]) -> str:
    """Return the shell text that sources CANN and becomes the command; what is asked for is a variable there too."""
    found = []
    for word in words:
        parts = [Part(word)] if isinstance(word, str) else word
        found.append("".join(f'"${{{part.asked}}}"' if part.asked else shell_word(part.text) for part in parts) or "''")
    return f"for i in {' '.join(CANN)}; do [ ! -r $i ] || . $i; done; exec {' '.join(found)}"


def composed(parts: Sequence[Part]) -> str:
    """Return a word of several parts; what is asked for is a variable."""
    word = "".join(f"${{{part.asked}}}" if part.asked else _plain(part.text) for part in parts)
    return _whole(word)


def _escape(character: str) -> str:
    return f"\\x{ord(character):02x}" if character.isascii() else f"\\U{ord(character):08x}"


def quoted(word: str) -> str:
    """Return a word as systemd reads it back unchanged: % and $ doubled, quoted where it has blanks or quotes.

    Control characters are escapes: a line ends at a carriage return too.
    """
    return _whole(_plain(word))


def _plain(word: str) -> str:
    word = word.replace("\\", "\\\\").replace("%", "%%").replace("$", "$$").replace("\n", "\\n")
    return "".join(c if shows_all(c) else _escape(c) for c in word)


def _whole(word: str) -> str:
    if word and not set(word) & set(" \t\"';"):
        return word
    return '"' + word.replace('"', '\\"') + '"'
