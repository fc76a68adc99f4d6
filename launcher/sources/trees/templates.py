"""What Helm and its like fill in: ``{{ … }}``, alone on its lines or as a part of a value. One pass."""

from __future__ import annotations

from collections.abc import Iterator


def template_parts(text: str) -> Iterator[tuple[int, int, bool]]:
    """Iterate over the parts that are filled in: beginning, end, and whether it stands alone on its lines.

    What holds a quoted key, as JSON with doubled braces does, is no template unless it stands alone.
    """
    at = close = brace = quote = line = 0
    while (start := text.find("{{", at)) >= 0:
        if close < start + 2:
            close = text.find("}}", start + 2)
            if close < 0:
                return
        if brace < start + 2:
            before, brace = brace, text.find("}", start + 2)
            quote = max(text.rfind(mark, before, brace) for mark in ("':", '":'))
        line = max(line, text.rfind("\n", at, start) + 1)
        end = _end_of_line(text, line, at, start, close + 2)
        if end is not None:
            yield line, end, True
            at = end
        elif quote < start + 2:
            yield start, close + 2, False
            at = close + 2
        else:
            at = start + 1


def _end_of_line(text: str, line: int, at: int, start: int, stop: int) -> int | None:
    """Return the end of the line behind a part with nothing else before and behind it; None for another."""
    if line < at or text[line:start].strip(" \t"):
        return None
    end = text.find("\n", stop)
    end = len(text) if end < 0 else end
    return None if text[stop:end].strip(" \t") else end
