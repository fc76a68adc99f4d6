"""An upgrade as text for people, by what it does to them, and as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pd_launch.launcher.secrets.masking import Secrets, mask
from pd_launch.launcher.upgrade.entries import Entry
from pd_launch.launcher.upgrade.work import Upgrade
from pd_launch.launcher.wording.width import clean
from pd_launch.schemas.core.msg import NOTHING, Msg, shortened
from pd_launch.schemas.core.units import counted
from pd_launch.schemas.upgrade import UpgradeChange, UpgradeReport

_TITLES = {
    "stops": Msg("the engine will not start", "引擎无法启动"),
    "differs": Msg("it starts, but behaves differently", "能启动，但行为不同"),
    "cleans": Msg("cleaning up", "清理"),
}
_HOW = {
    "certain": Msg("--write changes it", "--write 会改"),
    "plausible": Msg("--write --unsafe changes it", "--write --unsafe 会改"),
    "by-hand": Msg("change it by hand", "需要手工修改"),
    "note": Msg("nothing to write", "无需改写"),
}
_COLOURS = {"stops": "31", "differs": "33", "cleans": "36"}
MOST = 12
"""Entries of one file and one group that are shown one by one, so that a file fits a screen."""
MOST_LINES = 6
"""Lines that one change is shown for by number."""


def _alike(entries: Sequence[Entry]) -> list[list[Entry]]:
    """Return entries that say the same, together."""
    found: dict[tuple[object, ...], list[Entry]] = {}
    for entry in entries:
        key = (entry.subject, entry.before, entry.after, entry.how, entry.written, entry.why)
        found.setdefault(key, []).append(entry)
    return list(found.values())


class Text:
    """Writes an upgrade for a terminal."""

    def __init__(self, lang: str, colour: bool, secrets: Secrets, wrote: bool) -> None:
        self.lang, self.colour, self.secrets, self.wrote = lang, colour, secrets, wrote

    def render(self, found: Upgrade) -> str:
        """Return the whole text."""
        files = [source.path for source in found.files]
        parts = [
            part for path in files for part in self._file(path, [e for e in found.entries if e.origin.file == path])
        ]
        others = [entry for entry in found.entries if entry.origin.file not in files]
        parts += [part for path in dict.fromkeys(e.origin.file for e in others) for part in self._file(
            path, [e for e in others if e.origin.file == path])]  # fmt: skip
        return "\n".join([*parts, self._last(found), ""])

    def _file(self, path: str, entries: Sequence[Entry]) -> Iterable[str]:
        if not entries:
            return
        yield self._paint("1", clean(path))
        for group, titles in _TITLES.items():
            some = sorted((e for e in entries if e.group == group), key=lambda e: (e.how == "note", e.origin.line))
            if not some:
                continue
            yield "  " + self._paint(_COLOURS[group], titles.text(self.lang))
            alike = _alike(some)
            for same in alike[:MOST]:
                yield from self._entry(same)
            if len(alike) > MOST:
                more = sum(len(same) for same in alike[MOST:])
                yield Msg(f"    {more} more: see --format json", f"    另有 {more} 条，见 --format json").text(
                    self.lang
                )
        yield ""

    def _entry(self, same: Sequence[Entry]) -> Iterable[str]:
        entry = same[0]
        shown = shortened(mask(entry.why.text(self.lang), self.secrets))
        lines = list(dict.fromkeys(str(one.origin.line) for one in same))
        places = ", ".join(lines[:MOST_LINES]) + ("…" if len(lines) > MOST_LINES else "")
        if entry.subject.startswith("PD"):
            yield f"    {places}: {clean(shown)} ({entry.subject})"
        else:
            yield f"    {places}: {clean(self._change(entry))}"
            yield f"       {clean(shown)}{'' if not entry.source.startswith('http') else f' ({entry.source})'}"
        done = entry.written and self.wrote
        how = (Msg("written", "已写入").text(self.lang)) if done else _HOW[entry.how].text(self.lang)
        advice = mask(entry.help.text(self.lang), self.secrets) if entry.help is not None else ""
        needed = advice and (entry.how in ("by-hand", "note") or not entry.after) and not done
        yield f"       {how}{Msg(': ', '：').text(self.lang) + clean(shortened(advice)) if needed else ''}"

    def _change(self, entry: Entry) -> str:
        before, after = (shortened(mask(text, self.secrets)) for text in (entry.before, entry.after))
        if entry.kind in ("default", "behaviour") and entry.before != entry.subject and after:
            return f"{entry.subject}: {before} → {after}"
        if entry.how == "by-hand" or not after:
            return before or entry.subject
        return f"{before} → {after}"

    def _last(self, found: Upgrade) -> str:
        count = sum(1 for entry in found.entries if entry.how != "note")
        notes = len(found.entries) - count
        left = len(found.left) if self.wrote else count
        step = f"{found.step.a} → {found.step.b}"
        errors = sum(1 for one in found.after if one.severity == "error")
        if not found.entries:
            return Msg(f"{step}: nothing changes for these files", f"{step}：没有需要修改的地方").text(self.lang)
        under = counted(errors, "error")
        more = Msg(
            f"; {count - left} written, {left} left; check under the new release: {under}",
            f"；已写入 {count - left} 处，剩 {left} 处；按新版本检查有 {errors} 个错误",
        )
        more = more if self.wrote else NOTHING
        changes, said = counted(count, "change"), counted(notes, "note")
        return Msg(f"{step}: {changes}, {said}{more.en}", f"{step}：{count} 处修改，{notes} 条说明{more.zh}").text(
            self.lang
        )

    def _paint(self, code: str, text: str) -> str:
        return f"\033[{code}m{text}\033[0m" if self.colour else text


def report(found: Upgrade, lang: str, secrets: Secrets, wrote: bool) -> UpgradeReport:
    """Return an upgrade as its JSON contract."""

    def said(text: str) -> str:
        return shortened(mask(text, secrets)).encode("utf-8", "replace").decode("utf-8")

    changes = [
        UpgradeChange(
            kind=entry.kind, subject=said(entry.subject), effect=entry.group, file=entry.origin.file,
            line=entry.origin.line, column=entry.origin.column, before=said(entry.before), after=said(entry.after),
            why=said(entry.why.text(lang)), help=said(entry.help.text(lang)) if entry.help else "",
            source=entry.source, how=entry.how, written=entry.written and wrote,
        )
        for entry in found.entries
    ]  # fmt: skip
    made = {
        "from": found.step.a.written,
        "to": found.step.b.written,
        "files": [source.path for source in found.files],
        "changes": changes,
        "findings_before": found.before,
        "findings_after": found.after,
    }
    return UpgradeReport.model_validate(made)
