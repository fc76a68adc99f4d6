"""What kind of file a text is, where no parser is needed to tell: script, Python, YAML, too large to be one."""

from __future__ import annotations

import re

from pd_launch.schemas.core.values import SourceFile

_DOCUMENT = re.compile(r"^---", re.MULTILINE)
_COMMENTS = re.compile(r"\ufeff?(?:[ \t\r]*(?:#(?!!)[^\n]*)?\n)*[ \t]*")


def is_script(source: SourceFile) -> bool:
    """Whether a file is a shell script by its name or its first line."""
    return source.path.endswith((".sh", ".bash")) or re.match(r"#!.*\b(?:ba|da|z|k)?sh\b", source.text) is not None


def is_python(source: SourceFile) -> bool:
    """Whether a file is Python, by its name or its first line."""
    return source.path.endswith(".py") or (source.text.startswith("#!") and "python" in source.text.split("\n", 1)[0])


def opens_like_yaml(text: str) -> bool:
    """Whether the first line of a text that is no comment is one with which a known form begins."""
    begins = _COMMENTS.match(text)
    head = text[begins.end() if begins else 0 :][:200]
    return head.startswith(
        ("version:", "apiVersion:", "services:", "---", "kind:", "test_name:", "model:", "test_cases:")
    )


def is_large(source: SourceFile, most: int) -> bool:
    """Whether a file is larger than it may be; of YAML each document counts alone."""
    if _bytes(source.text) <= most:
        return False
    is_yaml = source.path.endswith((".yaml", ".yml")) or opens_like_yaml(source.text)
    return not is_yaml or any(_bytes(document) > most for document in _DOCUMENT.split(source.text))


def _bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
