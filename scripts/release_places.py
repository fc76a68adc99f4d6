"""Where in our code something of a release counts: the table's line, and the rules that ask it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from pd_launch.schemas.releases import registry
from pd_launch.schemas.releases.facts import Fact

ROOT = Path(__file__).resolve().parent.parent
SECTIONS = {
    "connectors": "schemas/releases/connectors.py",
    "additional": "schemas/releases/additional_keys.py (BOOLEANS, DERIVED)",
    "groups": "schemas/releases/additional_keys.py (GROUPS)",
    "env": "schemas/releases/environment.py (INSTEAD)",
    "flags": "generated; a flag that is reset or added: ignored_flags.py, domains.py",
    "fields": "generated; of --kv-transfer-config: kv_fields.py",
    "facts": "schemas/releases/schedulers.py (TYPED)",
    "modules": "generated",
    "registered": "generated",
    "keywords": "generated",
    "logs": "schemas/releases/log_lines.py, launcher/logs/patterns.py",
    "refusals": "schemas/releases/features.py and the rule",
    "options": "generated; what is required, and words: schemas/releases/connector_options.py",
    "flags of the platform": "schemas/releases/domains.py (ASCEND_WORDS)",
    "overwritten": "schemas/releases/additional_keys.py (DERIVED), PD008",
    "hooks": "schemas/releases/schedulers.py, connector/",
    "companions": "schemas/core/pairing.py",
}
"""Kind of a change → where it is kept."""


@cache
def _texts() -> dict[str, list[str]]:
    return {
        str(path.relative_to(ROOT)): path.read_text(encoding="utf-8").splitlines()
        for folder in ("schemas", "launcher")
        for path in sorted((ROOT / folder).rglob("*.py"))
    }


def place(fact: Fact) -> str:
    """Return file and line of a fact, and the rules and modules that use it."""
    module, name = _owner(fact)
    if name == "facts":
        return _row(fact, module)
    said = re.match(r'the log says "(.*)"$', fact.meaning)
    if said:
        return ", ".join(_lines_with(said[1]))
    file = module
    lines = _texts().get(file, [])
    line = next((n for n, text in enumerate(lines, 1) if f'"{fact.name}"' in text), 0) or next(
        (n for n, text in enumerate(lines, 1) if re.match(rf"{name}\b", text)), 0
    )
    used = ", ".join(_users(file, name)) or "tables only"
    return f"{file}:{line} → {used}"


def _lines_with(needle: str) -> Iterator[str]:
    """Give the first line of each file of the log lines that holds a text."""
    for file in ("schemas/releases/log_lines.py", "launcher/logs/patterns.py", "launcher/logs/notices.py"):
        line = next((n for n, text in enumerate(_texts()[file], 1) if needle in text), None)
        if line is not None:
            yield f"{file}:{line}"


def _row(fact: Fact, module: str) -> str:
    """Return the place of a fact that is made of a table's row: the row that names the longest part of it."""
    file = module.replace("connector_facts", "connectors").replace("_facts", "")
    quoted = ((n, word) for n, text in enumerate(_texts().get(file, []), 1) for word in re.findall(r"[\w/.]{4,}", text))
    named = [
        (n, word) for n, word in quoted if re.search(rf"(?:^|-){re.escape(word.rpartition('/')[2])}(?:-|$)", fact.name)
    ]
    line = next(iter(sorted(named, key=lambda pair: (-len(pair[1]), pair[0]))), (1, ""))[0]
    return f"{file}:{line}"


@cache
def _owners() -> dict[str, tuple[str, str]]:
    """Return each fact's module and the name that stands for it there, or for the table that holds it."""
    found: dict[str, tuple[str, str]] = {}
    for module in registry.modules():
        short = f"{module.__name__.removeprefix('pd_launch.').replace('.', '/')}.py"
        if callable(getattr(module, "facts", None)):
            found |= {fact.name: (short, "facts") for fact in module.facts()}
        names = [(name, value) for name, value in vars(module).items() if not name.startswith("__")]
        for name, value in sorted(names, key=lambda pair: (pair[0].startswith("_"), isinstance(pair[1], Fact))):
            if module.__name__ == getattr(value, "__module__", module.__name__) or isinstance(value, (Fact, dict)):
                for fact in registry.inside(value):
                    if _defines(short, name):
                        found.setdefault(fact.name, (short, name))
    return found


def _defines(module: str, name: str) -> bool:
    lines = _texts().get(module, [])
    return any(re.match(rf"{name}\b\s*(:|=)", line) for line in lines)


def _owner(fact: Fact) -> tuple[str, str]:
    return _owners().get(fact.name, ("schemas/releases/facts.py", fact.name))


def _users(own: str, name: str) -> Iterator[str]:
    """Give the codes of rules, and other modules, that name a table's constant."""
    public = {name} | set(_aliases(own, name))
    for file, lines in _texts().items():
        if file != own and any(word in line and re.search(rf"\b{word}\b", line) for line in lines for word in public):
            code = re.search(r"/(pd\d{3})_", file)
            yield code[1].upper() if code else file


def _aliases(own: str, name: str) -> Iterator[str]:
    """Give the public tables of the same module that hold a private constant."""
    if name.startswith("_"):
        text = "\n".join(_texts().get(own, []))
        for match in re.finditer(r"^([A-Z][A-Z_]+)\b[^=\n]*= \{(.*?)^\}", text, re.MULTILINE | re.DOTALL):
            if re.search(rf"\b{name}\b", match[2]):
                yield match[1]
