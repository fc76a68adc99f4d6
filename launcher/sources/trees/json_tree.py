"""JSON with positions, and with a lenient second pass that says where and why a value is not JSON.

Python's ``json`` decides what is valid. The reader below follows the same text, keeps the place of every value, and
goes on after a fault, so that one mistake gives one finding and the rest of the value can still be checked.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import field, replace
from typing import Any

from pd_launch.launcher.sources.text.limits import not_followed
from pd_launch.launcher.sources.text.weave import Stretch, Weaver
from pd_launch.schemas.core.launch import Fault
from pd_launch.schemas.core.lazy import lazy_pattern
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.record import dataclass
from pd_launch.schemas.core.units import human_integer
from pd_launch.schemas.core.values import HOLE, Node, Origin, Site, SourceFile, Splice, Text, Unknown, readable
from pd_launch.schemas.core.whole import is_boundless

MAX_DEPTH = 100
MAX_FAULTS = 50
_BLANK = lazy_pattern(r"[ \t\r\n]*")
_STRING = lazy_pattern(r'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_ESCAPED = lazy_pattern(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\(?:u[0-9a-fA-F]{4}|[\"\\/bfnrt])"
)
_SINGLE = lazy_pattern(r"'[^'\\]*(?:\\.[^'\\]*)*'", re.DOTALL)
_WIDE = {"\uff1a": ":", "\uff0c": ",", "\uff5b": "{", "\uff5d": "}", "\uff3b": "[", "\uff3d": "]"}
_BARE = lazy_pattern(rf"[^\s,:\[\]{{}}\"'`\\{''.join(_WIDE)}]+|{HOLE}")
_ENDS_WORD = f",:[]{{}}{''.join(_WIDE)}"
_NUMBER = lazy_pattern(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?", re.ASCII)
_CURLY = {"“": '"', "”": '"', "‘": "'", "’": "'"}
_WORDS: dict[str, Any] = {"true": True, "false": False, "null": None}
_PYTHON_WORDS = {"True": "true", "False": "false", "None": "null"}
_CONSTANTS = ("NaN", "Infinity", "-Infinity")


UNCLOSED = Msg("this string is never closed", "这个字符串没有结束")
NO_VALUE = Msg("a value is expected here", "这里应当是一个值")


class _Lost(Exception):
    """The reader cannot make sense of the rest; ``said`` is why."""

    def __init__(self, said: Msg) -> None:
        super().__init__(said.en)
        self.said = said


class _TooMuch(Exception):
    """The value continues after a limit; the message says which, in English and Chinese."""


def edits_of(text: Text, changes: Sequence[tuple[int, int, str]]) -> tuple[Splice, ...]:
    """Return several changes of one text, each of ``[start, end)`` to new characters; nothing where one cannot be."""
    edits = [text.edit(*change) for change in changes]
    return tuple(splice for edit in edits for splice in edit or ()) if all(edits) else ()


@dataclass
class _Reader:
    text: Text
    at: int = 0
    depth: int = 0
    wide: int = -1
    """Where the last full-width sign was met."""
    faults: list[Fault] = field(default_factory=list)
    sizes: bool = False
    sized: bool = False
    """Whether a number with a suffix was met."""

    @property
    def value(self) -> str:
        return self.text.value

    def fault(
        self, start: int, end: int, said: Msg, fix: list[tuple[int, int, str]] | None = None, safe: bool = True
    ) -> None:
        if len(self.faults) >= MAX_FAULTS:
            raise _TooMuch(Msg(f"more than {MAX_FAULTS} faults in one value", f"一个值里超过 {MAX_FAULTS} 处错误"))
        edits = edits_of(self.text, fix or ())
        origin = self.text.origin(start, end)
        self.faults.append(Fault("json", origin, said, fix=edits, fix_is_safe=safe and bool(edits)))

    def peek(self) -> str:
        """Return the next token's first character, after blanks; a full-width sign counts as the one it is for."""
        self.at = _BLANK.match(self.value, self.at).end()  # type: ignore[union-attr]
        self.skip_noise()
        character = self.value[self.at : self.at + 1]
        right = _WIDE.get(character)
        if right is None:
            return character
        if self.wide != self.at:
            self.wide = self.at
            self.fault(
                self.at,
                self.at + 1,
                Msg(
                    f"full-width character {character}: JSON needs {right}",
                    f"全角符号 {character}：JSON 需要半角 {right}",
                ),
                [(self.at, self.at + 1, right)],
            )
        return right

    def skip_noise(self) -> None:
        """Step over what is between tokens but is no JSON: backslashes, backticks, comments."""
        while True:
            character = self.value[self.at : self.at + 1]
            if character == "\\" and self.value[self.at + 1 : self.at + 2] != '"':
                self.fault(
                    self.at,
                    self.at + 1,
                    Msg(
                        "a backslash between JSON tokens: inside single quotes the shell keeps it as part of the value",
                        "JSON 记号之间有反斜杠：单引号里 shell 会原样保留它，于是它成了值的一部分",
                    ),
                    [(self.at, self.at + 1, "")],
                )
                self.at += 1
            elif character == "`":
                self.fault(
                    self.at, self.at + 1, Msg("a backtick is not JSON", "反引号不是 JSON"), [(self.at, self.at + 1, "")]
                )
                self.at += 1
            elif character == "#" or self.value.startswith("//", self.at):
                end = self.value.find("\n", self.at)
                end = len(self.value) if end < 0 else end
                self.fault(self.at, end, Msg("JSON has no comments", "JSON 不支持注释"), [(self.at, end, "")])
                self.at = end
            else:
                return
            self.at = _BLANK.match(self.value, self.at).end()  # type: ignore[union-attr]

    def read(self) -> Node:
        character = self.peek()
        start = self.at
        if character == "{":
            node = self.container(self.members, "}")
        elif character == "[":
            node = self.container(self.elements, "]")
        elif character in ('"', "'", "\\") or character in _CURLY:
            node = Node(*self.string(), text=self.inner(start))
        else:
            node = self.bare()
        node.site = Site(self.text, start, self.at, "json")
        return node

    def inner(self, start: int) -> Text | None:
        """Return the characters of the string that was just read, for rules that look inside."""
        stretch = Stretch("json", self.text.spots[start])
        raw = self.text.part(start + 1, max(start + 1, self.at - 1))
        if "\\" not in raw.value:
            return raw.quoted(*stretch)
        weaver, at = Weaver(raw), 0
        for match in _ESCAPED.finditer(raw.value):
            weaver.take(at, match.start(), stretch)
            weaver.put(json.loads(f'"{match[0]}"'), *match.span(), stretch)
            at = match.end()
        weaver.take(at, len(raw.value), stretch)
        return weaver.text(len(raw.value))

    def container(self, content: Any, closing: str) -> Node:
        start = self.at
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise _TooMuch(Msg(f"nested more than {MAX_DEPTH} deep", f"嵌套超过 {MAX_DEPTH} 层"))
        self.at += 1
        value = content(start, closing)
        self.depth -= 1
        return Node(value, self.text.origin(start, self.at))

    def separators(self, start: int, closing: str, what: str) -> Any:
        """Yield once before each entry, handling commas and the end of the collection."""
        need_comma = False
        last_comma = -1
        while True:
            character = self.peek()
            if character == closing:
                if last_comma >= 0:
                    self.fault(
                        last_comma,
                        last_comma + 1,
                        Msg(f"trailing comma before {closing!r}", f"{closing!r} 前有多余的逗号"),
                        [(last_comma, last_comma + 1, "")],
                    )
                self.at += 1
                return
            if character == "":
                opened = self.text.origin(start, start + 1)
                end = len(self.value.rstrip())
                self.fault(
                    max(end - 1, 0),
                    end,
                    Msg(
                        f"the {what} opened on line {opened.line} is never closed: {closing!r} is missing",
                        f"第 {opened.line} 行开始的{'对象' if closing == '}' else '数组'}没有结束：缺少 {closing!r}",
                    ),
                    [(end, end, closing)],
                    safe=False,
                )
                return
            if character == ",":
                if need_comma:
                    last_comma, need_comma = self.at, False
                else:
                    self.fault(
                        self.at,
                        self.at + 1,
                        Msg("a comma with nothing before it", "逗号前面没有内容"),
                        [(self.at, self.at + 1, "")],
                    )
                self.at += 1
                continue
            if character in "}])":
                opening = "{" if closing == "}" else "["
                raise _Lost(
                    Msg(
                        f"{character!r} closes what was opened with {opening!r}",
                        f"{character!r} 与开头的 {opening!r} 不匹配",
                    )
                )
            if need_comma:
                if character == HOLE:
                    raise _Unsure
                behind = len(self.value[: self.at].rstrip())
                self.fault(
                    self.at,
                    self.at + 1,
                    Msg("a comma is missing before this", "这里前面缺少逗号"),
                    [(behind, behind, ",")] if behind < self.at or self.value[behind - 1] in "}]" else None,
                    safe=False,
                )
            need_comma, last_comma = True, -1
            yield

    def members(self, start: int, closing: str) -> dict[str, Node]:
        found: dict[str, Node] = {}
        for _ in self.separators(start, closing, "object"):
            self.peek()
            first = self.at
            key, place = self.key()
            key_text = self.inner(first) if self.value[first] in "\"'" else self.text.part(first, self.at)
            if self.peek() != ":":
                if HOLE in key:
                    raise _Unsure
                raise _Lost(Msg(f"':' is missing after the key {key!r}", f"键 {key!r} 后面缺少 ':'"))
            self.at += 1
            node = self.read()
            node.key, node.key_text = place, key_text
            node.site = replace(node.site, entry=first) if node.site else None
            if key in found:
                node.shadowed, found[key].shadowed = found[key].shadowed, []  # one history, at the value that counts
                node.shadowed.append(found[key])
            found[key] = node
        return found

    def elements(self, start: int, closing: str) -> list[Node]:
        return [self.read() for _ in self.separators(start, closing, "list")]

    def key(self) -> tuple[str, Origin]:
        character = self.peek()
        if character in ('"', "'", "\\") or character in _CURLY:
            start = self.at
            text, place = self.string()
            known = not isinstance(text, Unknown)  # an unknown part stays in the name, where rules see it
            return (text if known else self.value[start + 1 : self.at - 1]), place
        match = _BARE.match(self.value, self.at)
        if match is None:
            raise _Lost(
                Msg(
                    f"expected a key in double quotes, not {character!r}",
                    f"这里应当是双引号括起来的键，而不是 {character!r}",
                )
            )
        start, end = match.span()
        self.at = end
        if HOLE not in match.group():
            self.fault(
                start,
                end,
                Msg(f"the key {match.group()} has no quotes", f"键 {match.group()} 没有加引号"),
                [(start, end, f'"{match.group()}"')] if self.stands_alone(end) else None,
            )
        return match.group(), self.text.origin(start, end)

    def stands_alone(self, end: int) -> bool:
        """Whether a word or string ends at ``end``: what goes on, as ``it's`` does, is not to be quoted in part."""
        return end >= len(self.value) or self.value[end].isspace() or self.value[end] in _ENDS_WORD

    def string(self) -> tuple[Any, Origin]:
        start = self.at
        character = self.value[start]
        if character == '"':
            match = _STRING.match(self.value, start)
            if match is None:
                raise _Lost(UNCLOSED)
            self.at = match.end()
            return self.decoded(match.group(), start), self.text.origin(start, self.at)
        if character == "\\":
            return self.escaped_string()
        if character in _CURLY:
            end = next((i for i in range(start + 1, len(self.value)) if self.value[i] in _CURLY), -1)
            if end < 0:
                raise _Lost(UNCLOSED)
            self.at = end + 1
            self.fault(
                start,
                self.at,
                Msg(
                    "typographic quotes: JSON needs straight double quotes",
                    "使用了中文或排版引号：JSON 需要英文直双引号",
                ),
                [(start, start + 1, '"'), (end, end + 1, '"')],
            )
            return self.value[start + 1 : end], self.text.origin(start, self.at)
        match = _SINGLE.match(self.value, start)
        if match is None:
            raise _Lost(UNCLOSED)
        self.at = match.end()
        inner = match.group()[1:-1]
        self.fault(
            start,
            self.at,
            Msg(
                "single quotes, as in a Python dict: JSON strings need double quotes",
                "用了单引号（像 Python 字典）：JSON 字符串需要双引号",
            ),
            [(start, start + 1, '"'), (self.at - 1, self.at, '"')]
            if '"' not in inner and "\\" not in inner and self.stands_alone(self.at)
            else None,
        )
        return inner, self.text.origin(start, self.at)

    def escaped_string(self) -> tuple[str, Origin]:
        r"""Read ``\"text\"``: a string whose quotes were escaped once too often."""
        start = self.at
        end = self.value.find('\\"', start + 2)
        if not self.value.startswith('\\"', start) or end < 0:
            raise _Lost(Msg("a backslash where a value is expected", "应当是值的地方出现了反斜杠"))
        self.at = end + 2
        self.fault(
            start,
            self.at,
            Msg(
                "the quotes are escaped once too often: the backslashes are part of the value",
                "引号多转义了一层：反斜杠成了值的一部分",
            ),
            [(start, start + 1, ""), (end, end + 1, "")],
        )
        return self.value[start + 2 : end], self.text.origin(start, self.at)

    def decoded(self, raw: str, start: int) -> Any:
        try:
            text = json.loads(raw, strict=True)
        except ValueError as error:
            place = start + getattr(error, "pos", 0)
            self.fault(place, place + 1, _string_fault(str(error)))
            return raw[1:-1]
        return Unknown(readable(raw[1:-1])) if HOLE in text else text

    def bare(self) -> Node:
        match = _BARE.match(self.value, self.at)
        if match is None:
            raise _Lost(NO_VALUE if self.at < len(self.value) else Msg("the value ends too early", "值过早结束"))
        start, end = match.span()
        while HOLE in self.value[start:end] and (more := _BARE.match(self.value, end)):
            end = more.end()
        self.at = end
        word = self.value[start:end]
        origin = self.text.origin(start, end)
        if HOLE in word:
            return Node(Unknown(readable(word)), origin)
        if word in _WORDS:
            return Node(_WORDS[word], origin)
        if _NUMBER.fullmatch(word) or word in _CONSTANTS:
            return Node(_number(word), origin)
        if self.sizes and (size := human_integer(word)) is not None:
            self.sized = True
            return Node(size, origin)
        if word in _PYTHON_WORDS:
            right = _PYTHON_WORDS[word]
            self.fault(
                start,
                end,
                Msg(f"{word} is Python; JSON writes {right}", f"{word} 是 Python 写法，JSON 应写 {right}"),
                [(start, end, right)],
            )
            return Node(_WORDS[right], origin)
        if "<" in word or ">" in word:
            self.at = start
            raise _Lost(Msg(f"the placeholder {word!r} is not filled in", f"占位符 {word!r} 没有被替换"))
        self.fault(
            start,
            end,
            Msg(
                f"{word!r} is not a JSON value: strings need double quotes", f"{word!r} 不是 JSON 值：字符串要加双引号"
            ),
            [(start, end, json.dumps(word))] if self.stands_alone(end) else None,
            safe=False,
        )
        return Node(word, origin)


def _number(word: str) -> Any:
    try:
        value = json.loads(word)
    except ValueError:  # more digits than Python converts
        return float("inf")
    return float("inf") if is_boundless(value) else value


def _string_fault(error: str) -> Msg:
    if "control character" in error:
        return Msg("a line break or tab inside a JSON string", "JSON 字符串里有换行或制表符")
    return Msg("a wrong escape in a JSON string", "JSON 字符串里的转义不正确")


class _Unsure(Exception):
    """An unknown part may change the structure: nothing certain can be said."""


def parse_json(text: Text, sizes: bool = False) -> tuple[Node, list[Fault]]:
    """Return a JSON value as a tree, and what keeps it from being JSON (kind ``json``), most certain first.

    After a fault the tree holds what could be read. Where an unknown part may change the structure, it is Unknown.
    With ``sizes``, numbers such as 80g and 2K are read as vLLM reads them in the JSON of its config classes.
    """
    if text.data is not None and _spells(text.value, text.data):
        return replace(text.data), []
    whole = text.origin()
    body, wrapped = _unwrap(text)
    reader = _Reader(body, sizes=sizes)
    try:
        node = reader.read()
        if reader.peek():
            if HOLE in body.value[reader.at :]:
                raise _Unsure
            _rest(reader)
    except _Unsure:
        return Node(Unknown(readable(text.value)), whole), []
    except _Lost as lost:
        if HOLE in body.value[: reader.at + 1]:
            return Node(Unknown(readable(text.value)), whole), []
        at = min(reader.at, max(len(body.value) - 1, 0))
        reader.faults.append(Fault("json", body.origin(at, at + 1), lost.said))
        node = Node(Unknown("unreadable"), whole)
    except _TooMuch as limit:
        at = min(reader.at, max(len(body.value) - 1, 0))
        reader.faults.append(not_followed(body.origin(at, at + 1), *limit.args))
        node = Node(Unknown("unreadable"), whole)
    except RecursionError:
        return Node(Unknown("unreadable"), whole), [not_followed(whole, Msg("nested too deep", "嵌套过深"))]
    faults = wrapped + reader.faults
    if not faults and HOLE not in text.value and not reader.sized:
        faults = _strict(text)
    return node, faults


def _spells(written: str, data: Node) -> bool:
    """Whether a text is the JSON of known data."""
    try:
        return data.complete() and bool(json.loads(written) == data.plain())
    except (ValueError, RecursionError):
        return False


def _rest(reader: _Reader) -> None:
    """Say that there is more; what follows an object or a list alone is surely too much."""
    end = len(reader.value.rstrip())
    whole = reader.value[: reader.at].rstrip()
    reader.fault(
        reader.at,
        end,
        Msg("there is text after the end of the JSON value", "JSON 值结束之后还有内容"),
        [(len(whole), end, "")] if whole.endswith(("}", "]")) else None,
        safe=False,
    )


def _unwrap(text: Text) -> tuple[Text, list[Fault]]:
    """Take off quotes that are part of the value, as in ``VALUE="'{…}'"``."""
    value = text.value.strip()
    inside = value[1:-1].strip()
    if len(value) > 2 and value[0] == value[-1] and value[0] in "'\"" and inside[:1] + inside[-1:] in ("{}", "[]"):
        start = text.value.index(value[0])
        end = text.value.rindex(value[0])
        first = text.origin(start, start + 1)
        fix = edits_of(text, [(start, start + 1, ""), (end, end + 1, "")])
        fault = Fault(
            "json",
            first,
            Msg(
                f"the quotes ({value[0]}) are part of the value: the shell does not remove them here",
                f"引号（{value[0]}）成了值的一部分：shell 在这里不会去掉它",
            ),
            fix=fix,
        )
        return text.part(start + 1, end), [fault]
    return text, []


def _strict(text: Text) -> list[Fault]:
    try:
        json.loads(text.value)
    except RecursionError:
        return [not_followed(text.origin(), Msg("nested too deep", "嵌套过深"))]
    except ValueError as error:
        at = min(getattr(error, "pos", 0), max(len(text.value) - 1, 0))
        message = getattr(error, "msg", None) or "not JSON"
        return [Fault("json", text.origin(at, at + 1), Msg(f"not JSON: {message}", f"不是 JSON：{message}"))]
    return []


def strict_faults(source: SourceFile) -> list[Fault]:
    """Return what keeps a file that calls itself JSON from being JSON, though YAML's readers take it.

    Whatever reads such a file, Mooncake's client for one, reads it as JSON.
    """
    text = Text.verbatim(source, 0, len(source.text))
    if not source.text.strip() or not _strict(text):
        return []
    return parse_json(text)[1]
