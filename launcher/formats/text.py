"""What the forms share: YAML as people write it, comments on top, and how a container asks whether its engine lives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import yaml

from pd_launch.launcher.formats.box import Box
from pd_launch.launcher.launch.start import health_addresses
from pd_launch.launcher.wording.width import clean, shows_all

WIDTH = 110


class _Dumper(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        return True


def _string(dumper: _Dumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _string)


def yaml_text(*documents: Any) -> str:
    """Return documents as YAML: keys in their order, scripts as blocks of lines."""
    return "---\n".join(dumped(document, _Dumper, WIDTH) for document in documents)


def dumped(value: Any, dumper: type[yaml.SafeDumper], width: int) -> str:
    """Return a value as YAML; where it holds what a terminal would act on, all but ASCII is written as escapes."""
    text: str = yaml.dump(value, Dumper=dumper, sort_keys=False, width=width, allow_unicode=True)
    if not shows_all(text):
        text = yaml.dump(value, Dumper=dumper, sort_keys=False, width=width, allow_unicode=False)
    return text


def head(notes: Sequence[str]) -> str:
    """Return notes as comments, each on a line: they name parts of the profile."""
    return "".join(f"# {clean(note)}\n" for note in notes)


def health_words(box: Box) -> list[str]:
    """Return a command that fails unless every engine of the box answers; it needs nothing but Python."""
    addresses = [address for launch in box.launches for address in health_addresses(launch)]
    return ["python3", "-c", f"import urllib.request as r; [r.urlopen(u, timeout=5) for u in {addresses!r}]"]
