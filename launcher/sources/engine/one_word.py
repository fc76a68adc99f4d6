"""Commands of which several words are written as one: no shell splits them there, and no program has such a name."""

from __future__ import annotations

from pd_launch.launcher.sources.engine.found import Found
from pd_launch.launcher.sources.engine.wrapped import engine_words, unwrap
from pd_launch.launcher.sources.text.interpolate import Words, split_words
from pd_launch.schemas.core.launch import Fault
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.values import Origin, Text

_MOST = 2
"""Words of a command's beginning that may hold further ones."""
_HELP = Msg(
    'write each word as a separate element, or let a shell split them: ["bash", "-c", "…"]',
    '每个词单独写成一个元素，或者交给 shell 拆分：["bash", "-c", "…"]',
)


def apart(words: Words, found: Found) -> Words:
    """Return the words of a command, those written as one apart, and say of them that nothing splits them there."""
    if not words or engine_words(unwrap(words)[0]) is not None:
        return words
    for at in range(min(_MOST, len(words))):
        inner = split_words(words[at])[0] if " " in words[at].value else []
        whole = words.having([*words[:at], *inner, *words[at + 1 :]])
        if len(inner) > 1 and engine_words(unwrap(whole)[0]) is not None:
            found.add_faults([_one_word(words[at])])
            return whole
    return words


def of_text(text: Text, words: Words, found: Found) -> Words:
    """Return the words of a command that is a text where a list must be, and say that it is refused."""
    if engine_words(unwrap(words)[0]) is not None:
        found.add_faults([_not_a_list(text.origin())])
    return words


def _one_word(word: Text) -> Fault:
    return Fault(
        "shell",
        word.origin(),
        Msg(
            "this is one word, blanks included: no shell splits it here, and no program has this name",
            "这里连同空格是一个词：此处没有 shell 来拆分，也没有这个名字的程序",
        ),
        help=_HELP,
    )


def _not_a_list(place: Origin) -> Fault:
    return Fault(
        "shell",
        place,
        Msg("Kubernetes needs a list here and refuses a string", "Kubernetes 在这里需要列表，不接受字符串"),
        help=_HELP,
    )
