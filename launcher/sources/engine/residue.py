"""What is left of a script's commands after all readers: a start of an engine that none of them took in, or judged.

Every command ends in one of three ways: it gives an engine or a finding, it is of a program that only shows, keeps or
searches what it is given (``TALKS``, ``KEEPS``), or nothing in it starts an engine. Whatever is left is said.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from pd_launch.launcher.sources.engine.wrapped import TALKS, hands_on, unwrap
from pd_launch.launcher.sources.shell.model import Command
from pd_launch.schemas.core.lazy import lazy_pattern
from pd_launch.schemas.core.values import HOLE, Text

_BEFORE = r"(?:^|[:=!;&|(`@\n]|\b(?:exec|nohup|sudo|then|do)[ \t])[ \t]{0,40}(?:[\w./-]{0,200}/)?"
_MODEL = rf"(?:[\w.-]{{0,200}}/[\w./-]{{1,200}}|[$~{HOLE}][^\s]{{0,200}})"
_COMMAND = lazy_pattern(
    rf"{_BEFORE}(?P<start>vllm[ \t]{{1,20}}serve)[ \t]{{1,20}}"
    rf"(?:{_MODEL}(?=\s|\Z|[,;&|)'\"])|[^\s-]\S{{0,200}}[ \t]{{1,20}}--?[a-z])"
)
"""The command of an engine inside of a word: at a place where commands begin, with what can be its model."""
_LISTED = lazy_pattern(r"[\"']vllm[\"']\s{0,9},\s{0,9}[\"']serve[\"']")
_GLUED = lazy_pattern(r"--[\w-]{1,60}=vllm|[^\s=]{0,200}[:!,@]vllm")
"""A word that ends in the program's name after a sign: ``EXEC:vllm``."""
_DESCRIBES = ("helm", "helmfile", "kustomize", "terraform")
"""Programs whose words are values of a chart or a plan, which is a file of its own."""
_PYTHON = lazy_pattern(r"\b(?:from|import)[ \t]{1,9}vllm\b")
_MADE = lazy_pattern(r"\b(?:LLM|EngineArgs|AsyncEngineArgs)\([^)\n]")


def left_of(command: Command) -> Text | None:
    """Return where a command that no reader took in starts an engine; None where it does not, or only speaks of one."""
    words, _ = unwrap(command.words)
    name = words[0].value.rpartition("/")[2] if words else ""
    if not words or name in _DESCRIBES or (name in TALKS and not hands_on(words)):
        return None
    glued = _glued(words)
    if glued is not None:
        return glued
    for word in words[1:]:
        value = word.value
        if "vllm" not in value or ("serve" not in value and "(" not in value):
            continue
        found = _COMMAND.search(value)
        if found is not None:
            return word.part(*found.span("start"))
        listed = _LISTED.search(value)
        if listed is not None:
            return word.part(*listed.span())
        made = _MADE.search(value) if _PYTHON.search(value) else None
        if made is not None:
            return word.part(*made.span())
    return None


def _glued(words: Sequence[Text]) -> Text | None:
    """Return the word in which the program's name is glued to something, where ``serve`` and a model follow it."""
    for word, behind in pairwise(words[:-1]):
        if behind.value == "serve" and _GLUED.fullmatch(word.value):
            return word
    return None
