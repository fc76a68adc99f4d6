"""Texts for users, in English and in Chinese beside each other: a pair in the code is complete in both."""

from __future__ import annotations

from dataclasses import dataclass

from pd_launch.schemas.core.chinese import typeset


@dataclass(frozen=True)
class Msg:
    """A text for users in both languages."""

    en: str
    zh: str

    def text(self, lang: str) -> str:
        """Return the text in ``lang`` (``en`` or ``zh``)."""
        return typeset(self.zh) if lang == "zh" else self.en


NOTHING = Msg("", "")
