"""Mutations of inputs, from single characters to whole structures. The same generator state gives the same text."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import yaml

LONGEST = 60_000
HOSTILE = (
    "",
    " ",
    "\t",
    "\n",
    "\r\n",
    "\\",
    "\\\n",
    "\\ \n",
    "'",
    '"',
    "`",
    "$",
    "${",
    "}",
    "$(",
    ")",
    "$((",
    "))",
    "{",
    "[",
    "]",
    "{}",
    "[]",
    "null",
    "true",
    "NaN",
    "-Infinity",
    "1e999",
    "0",
    "-1",
    "0x10",
    "1_000",
    "9" * 400,
    "16GiB",
    "1.5",
    "--",
    "-",
    "---",
    "=",
    ",",
    ",,",
    ":",
    ";",
    "&",
    "&&",
    "||",
    "|",
    "<<EOF\n",
    "#",
    "# pd-launch: ignore[",
    "*",
    "*a",
    "&a",
    "!!int",
    "!!python/object:os.system",
    "<<: *a",
    "%TAG ! x",
    "? ",
    "|\n",
    ">-\n",
    "\ufeff",
    "\x00",
    "\x07",
    "\x1b[31m",
    "\x1b]0;x\x07",
    "\x7f",
    "\x85",
    "\x9b31m",
    "\u2028",
    "\u202e",
    "\u2066",
    "\ue000",
    "\ud800",
    "\U0001f600",
    "é",
    "“",
    "–",
    "全角",
    "\\u0000",
    "\\ud800",
    "$1",
    "$@",
    '"${A[@]}"',
    "${A:-$A}",
    "${A#*x}",
    "${!A}",
    "$((1/0))",
    "$((2**99))",
    "$(seq 1 9999999)",
    "{0..99999999}",
    "A=$A$A",
    "f(){ f; }; f",
    "vllm serve",
    "--kv-transfer-config",
    "--data-parallel-size",
    "kv_role",
    "kv_connector",
    "connectors",
    "kv_connector_extra_config",
    "cpu_bytes_to_use_per_rank",
    "MultiConnector",
    "RecomputeCPUOffloadConnector",
    "docker run",
    "bash -c",
    "version: 1\n",
    "services:\n",
    "apiVersion: v1\nkind: Pod\n",
    "server_cmd:",
    "containers:",
    "from vllm import LLM\n",
    "LLM(",
    "%s",
    "{{ .Values.x }}",
    "::error::",
    "]]>",
    "&lt;",
    "<x>",
)
_TOKEN = re.compile(r"\w+|\s+|[^\w\s]")
_OBJECT = re.compile(r"'(\{.*?\})'", re.DOTALL)
_WORDS = ("1", "0", "-1", "8", "true", "x", "[]", "1e30", "99999999999999999999", "16GiB", "kv_both", "")
_SCALARS: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    -1,
    1,
    2**63,
    10**40,
    1.5,
    1e300,
    "",
    "8",
    "x",
    "16GiB",
    [],
    {},
    [[]],
    {"a": 1},
)


def at(random: Random, text: str) -> int:
    """Return a place in ``text``."""
    return random.randrange(len(text) + 1)


def characters(random: Random, text: str, other: str) -> str:
    """Change, insert, remove or repeat a few characters."""
    for _ in range(random.choice((1, 1, 2, 4, 16))):
        place = at(random, text)
        kind = random.randrange(5)
        if kind == 0:
            text = (
                text[:place] + chr(random.choice((random.randrange(256), random.randrange(0x3000)))) + text[place + 1 :]
            )
        elif kind == 1:
            text = text[:place] + text[place + random.choice((1, 1, 2, 9)) :]
        elif kind == 2:
            text = text[:place] + text[place : place + 8] * random.choice((2, 3, 50)) + text[place + 8 :]
        else:
            text = text[:place] + random.choice(HOSTILE) + text[place:]
    return text


def tokens(random: Random, text: str, other: str) -> str:
    """Replace, swap or repeat tokens."""
    parts = _TOKEN.findall(text)
    for _ in range(random.choice((1, 2, 3, 8))):
        if not parts:
            break
        place, second = random.randrange(len(parts)), random.randrange(len(parts))
        kind = random.randrange(4)
        if kind == 0:
            parts[place] = random.choice(HOSTILE)
        elif kind == 1:
            parts[place], parts[second] = parts[second], parts[place]
        elif kind == 2:
            parts[place : place + 1] = [parts[place]] * random.choice((0, 2, 30))
        else:
            parts[place] = random.choice(_WORDS)
    return "".join(parts)


def lines(random: Random, text: str, other: str) -> str:
    """Remove, repeat, swap, indent or join lines, or take some of another input."""
    rows = text.split("\n")
    place, second = random.randrange(len(rows)), random.randrange(len(rows))
    kind = random.randrange(7)
    if kind == 0:
        del rows[place]
    elif kind == 1:
        rows[place:place] = rows[second : second + random.choice((1, 5))]
    elif kind == 2:
        rows[place], rows[second] = rows[second], rows[place]
    elif kind == 3:
        rows[place] = random.choice(("  ", "\t", " \\", "- ")) + rows[place]
    elif kind == 4:
        rows[place : place + 2] = ["".join(rows[place : place + 2])]
    elif kind == 5:
        strange = other.split("\n")
        start = random.randrange(len(strange))
        rows[place:place] = strange[start : start + random.choice((1, 10))]
    else:
        return random.choice(("\r\n", "\r", "\u2028", "\n\n")).join(rows)
    return "\n".join(rows)


def cut(random: Random, text: str, other: str) -> str:
    """Keep a part, or continue with a part of another input."""
    text = text[: at(random, text)]
    return text + other[at(random, other) :] if random.random() < 0.5 else text


def _changed(random: Random, tree: Any, depth: int = 0) -> Any:
    """Return plain data with one of its values, keys or entries changed."""
    if isinstance(tree, dict) and tree and random.random() < 0.9:
        found = dict(tree)
        key = random.choice(list(found))
        kind = random.randrange(6)
        if kind == 0:
            del found[key]
        elif kind == 1:
            found[str(key) + random.choice(("x", " ", "_size", ""))] = found.pop(key)
        elif kind == 2:
            found[random.choice(HOSTILE)] = found[key]
        else:
            found[key] = _changed(random, found[key], depth + 1)
        return found
    if isinstance(tree, list) and tree and random.random() < 0.9:
        listed = list(tree)
        place = random.randrange(len(listed))
        kind = random.randrange(4)
        if kind == 0:
            del listed[place]
        elif kind == 1:
            listed = listed + [listed[place]] * random.choice((1, 3, 40))
        else:
            listed[place] = _changed(random, listed[place], depth + 1)
        return listed
    if random.random() < 0.2:
        for _ in range(random.choice((1, 3, 90, 150))):
            tree = {"a": tree} if random.random() < 0.5 else [tree]
        return tree
    return random.choice((*_SCALARS, random.choice(HOSTILE)))


def objects(random: Random, text: str, other: str) -> str:
    """Change the data of a JSON argument."""
    found = list(_OBJECT.finditer(text))
    if not found:
        return tokens(random, text, other)
    match = random.choice(found)
    try:
        tree = json.loads(match[1])
    except ValueError:
        return characters(random, text, other)
    for _ in range(random.choice((1, 1, 3))):
        tree = _changed(random, tree)
    return text[: match.start(1)] + json.dumps(tree, indent=random.choice((None, 2))) + text[match.end(1) :]


def documents(random: Random, text: str, other: str) -> str:
    """Change the data of a YAML document, and how it is written."""
    try:
        trees = list(yaml.safe_load_all(text))
    except (yaml.YAMLError, ValueError, RecursionError):
        return lines(random, text, other)
    if not trees or not isinstance(trees[0], (dict, list)):
        return lines(random, text, other)
    for _ in range(random.choice((1, 1, 2, 5))):
        trees[0] = _changed(random, trees[0])
    style = random.choice((None, None, True, False))
    try:
        return str(
            yaml.safe_dump_all(trees, default_flow_style=style, allow_unicode=True, width=random.choice((20, 80, 4000)))
        )
    except (yaml.YAMLError, UnicodeError, RecursionError):
        return tokens(random, text, other)


def wrapped(random: Random, text: str, other: str) -> str:
    """Put a script inside something else."""
    return (
        random.choice(
            (
                "if [ $X = 1 ]; then\n{}\nelse\n{}\nfi\n",
                "for i in $(seq 0 99); do\n{}\ndone\n",
                "f() {{\n{}\n}}\nf $1 8 &\nwait\n",
                "while read l; do\n{}\ndone < x\n",
                "cat > run.sh <<'EOF'\n{}\nEOF\nbash run.sh\n",
                "ssh h 'bash -s' <<EOF\n{}\nEOF\n",
                'docker run --rm img:v0.25.1 bash -c "{}"\n',
                "bash -c '{}'\n",
                "case $1 in a) {} ;; *) {} ;; esac\n",
                "services:\n  a:\n    command: |\n      {}\n",
                "({}) & {{ {}; }}\n",
                "x=$({})\n",
                "import os\nos.system('''{}''')\n",
            )
        )
        .replace("{}", text)
        .replace("{{", "{")
        .replace("}}", "}")
    )


MUTATIONS: Sequence[Callable[[Random, str, str], str]] = (characters, tokens, lines, cut, objects, documents, wrapped)


def mutate(random: Random, text: str, other: str) -> str:
    """Return ``text`` after one to three mutations; ``other`` is a second input to take parts from."""
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        text = random.choice(MUTATIONS)(random, text, other)[:LONGEST]
    return text
