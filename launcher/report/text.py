"""Findings for a terminal: the place, the line with a mark under it, why, and what to write instead."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pd_launch.launcher.report.releases import Choices, OfReleases, releases_text
from pd_launch.launcher.secrets.masking import NONE, Secrets
from pd_launch.launcher.wording.width import clean, width
from pd_launch.schemas.core.findings import Finding, Summary
from pd_launch.schemas.core.msg import NOTHING, Msg
from pd_launch.schemas.core.severity import RANK
from pd_launch.schemas.core.units import severities
from pd_launch.schemas.core.values import SourceFile
from pd_launch.schemas.core.words import joined, series

_COLOURS: dict[str, str] = {"error": "31", "warning": "33", "info": "36", "dim": "2", "bold": "1"}
_MORE = Msg("for more: ", "详细说明：")
_LABELS = {
    "why": Msg("why", "原因"),
    "help": Msg("help", "建议"),
    "fix": Msg("fix", "修复"),
    "releases": Msg("releases", "版本"),
    "error": Msg("error", "错误"),
    "warning": Msg("warning", "警告"),
    "info": Msg("info", "提示"),
    "colon": Msg(": ", "："),
}
_WIDTH = 110
_NAMED = 6
"""Files without an engine that are named."""
NO_FINDINGS = Msg("nothing to report", "没有发现问题")


class TextReport:
    """Renders findings. ``sources`` gives the lines that are shown; a file that is not there shows none.

    ``secrets`` are masked in these lines; findings are given masked. Texts are broken at words to ``columns``, where
    these are given. ``cut``: places where reading stopped, of which PD014 speaks unless it was left out. ``nothing`` is
    said where there is no finding. ``idle`` are given files without an engine, beside one with an engine.
    """

    def __init__(
        self,
        sources: Mapping[str, SourceFile],
        colour: bool,
        lang: str = "en",
        secrets: Secrets = NONE,
        columns: int | None = None,
        cut: int = 0,
        nothing: Msg = NO_FINDINGS,
        idle: Sequence[str] = (),
    ) -> None:
        self.sources = sources
        self.secrets = secrets
        self.colour = colour
        self.labels = {name: label.text(lang) for name, label in _LABELS.items()}
        self.lang = lang
        self.columns = columns
        self.cut = cut
        self.nothing = nothing
        self.idle = idle

    def render(self, findings: Sequence[Finding], summary: Summary, choices: Choices) -> str:
        """Return the whole report."""
        of_releases = OfReleases(choices, self.lang)
        parts = [self.finding(finding, of_releases(finding)) for finding in findings]
        last = [self.summary(summary, choices), *self.next_steps(findings)]
        return "\n".join([*parts, *(self.broken(line, 0) for line in last)])

    def next_steps(self, findings: Sequence[Finding]) -> list[str]:
        """Return what to do next: a line, where there are findings."""
        if not findings:
            return []
        first = max(findings, key=lambda finding: RANK[finding.severity]).code
        return [f"{self.fixing(findings)}{_MORE.text(self.lang)}pd-launch explain {first}"]

    def fixing(self, findings: Sequence[Finding]) -> str:
        """Return how many findings can be fixed, and how; nothing where none can."""
        sure = sum(finding.fix is not None and finding.fix.safe for finding in findings)
        likely = sum(finding.fix is not None for finding in findings) - sure
        unsafe = "" if sure else " --unsafe-fixes"
        if not sure + likely:
            return ""
        more = Msg(f"{likely} more with --unsafe-fixes; ", f"另有 {likely} 处需加 --unsafe-fixes；")
        more = more if sure and likely else NOTHING
        return Msg(
            f"{sure or likely} can be fixed: add --fix{unsafe}, or --diff{unsafe} to preview; {more.en}",
            f"{sure or likely} 处可以自动修复：加 --fix{unsafe}（先看改动：--diff{unsafe}）；{more.zh}",
        ).text(self.lang)

    def finding(self, finding: Finding, releases: str = "") -> str:
        """Return one finding with its place, and the releases that it is for where these need to be said."""
        severity = finding.severity
        head = self.paint(f"{self.labels[severity]}[{finding.code}]", severity, "bold")
        label = f"{self.labels[severity]}[{finding.code}] "
        message = self.broken(clean(finding.message), width(label))
        lines = [f"{head} {message}", f"  --> {self.place(finding.file, finding.line, finding.column)}"]
        lines += self.snippet(finding)
        for related in finding.related:
            lines.append(f"  ... {self.place(related.file, related.line, related.column)}: {clean(related.message)}")
        if finding.why:
            lines.append(self.labelled("why", "dim", finding.why))
        if releases:
            lines.append(self.labelled("releases", "dim", releases))
        if finding.help:
            lines.append(self.labelled("help", "bold", finding.help))
        if finding.fix is not None:
            flags = "--fix" if finding.fix.safe else "--fix --unsafe-fixes"
            lines.append(self.labelled("fix", "bold", f"{flags}: {finding.fix.message}"))
        return "\n".join(lines) + "\n"

    def labelled(self, name: str, style: str, text: str) -> str:
        """Return a text after its label."""
        label = f"  {self.labels[name]}{self.labels['colon']}"
        return self.paint(label, style) + self.broken(clean(text), width(label))

    def broken(self, text: str, used: int) -> str:
        """Break a text at words, where columns are given; ``used`` are taken on its first line."""
        if self.columns is None:
            return text
        from pd_launch.launcher.wording.lines import broken

        return broken(text, self.columns, used, 4)

    def place(self, file: str, line: int, column: int) -> str:
        """Return ``file:line:column``."""
        return f"{clean(file)}:{line}:{column}"

    def snippet(self, finding: Finding) -> list[str]:
        """Return the finding's line with a mark under its place; nothing for what is not in a file."""
        source = self.sources.get(finding.file)
        if source is None or finding.line > len(source.starts) or not source.text:
            return []
        line = source.line(finding.line)
        start = finding.column - 1
        end = finding.end_column - 1 if finding.end_line == finding.line else len(line)
        end = max(end, start + 1)
        gutter = str(finding.line)
        room = _WIDTH if self.columns is None else max(20, min(_WIDTH, self.columns - len(gutter) - 6))
        masked = self.secrets.masked_line(source, finding.line)
        line, start, end = _window(masked.text, *masked.place(start, end), room)
        blank = " " * len(gutter)
        mark = " " * width(line[:start]) + self.paint("^" * max(1, width(line[start:end])), finding.severity)
        return [f" {blank} |", f" {gutter} | {clean(line)}", f" {blank} | {mark}"]

    def summary(self, summary: Summary, choices: Choices) -> str:
        """Return the last line: counts, and for which release the input was checked."""
        names = releases_text(choices, self.lang)
        total = summary.error + summary.warning + summary.info
        text = self.nothing
        if self.cut:
            text = Msg(
                f"nothing found in the part that was checked: reading stopped {_times(self.cut)} (PD014)",
                f"只检查了一部分（{self.cut} 处没有读完，见 PD014），其中没有发现问题",
            )
        if total:
            text = Msg(
                severities(summary.error, summary.warning, summary.info),
                f"{summary.error} 个错误，{summary.warning} 个警告，{summary.info} 个提示",
            )
        beside = [Msg(f"checked for {names}", f"检查目标：{names}")] if names else []
        if self.idle:
            files = series([clean(file) for file in self.idle[:_NAMED]], more=len(self.idle) > _NAMED)
            beside.append(Msg(f"no engine in {files.en}", f"{files.zh} 中没有引擎"))
        if beside:
            remarks = joined(beside)
            text = Msg(f"{text.en} ({remarks.en})", f"{text.zh}（{remarks.zh}）")
        return text.text(self.lang)

    def paint(self, text: str, *styles: str) -> str:
        """Return ``text`` in colours, where colours are wanted."""
        if not self.colour:
            return text
        codes = ";".join(_COLOURS[style] for style in styles)
        return f"\033[{codes}m{text}\033[0m"


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def concise(findings: Sequence[Finding], choices: Choices = (), lang: str = "en") -> str:
    """Return one line for each finding: ``file:line:column: severity[code] message``, with its releases if need be."""
    of_releases = OfReleases(choices, lang)
    return "".join(
        f"{clean(f.file)}:{f.line}:{f.column}: {f.severity}[{f.code}] {clean(f.message)}{_behind(of_releases(f))}\n"
        for f in findings
    )


def _behind(releases: str) -> str:
    return f" ({releases})" if releases else ""


def _window(line: str, start: int, end: int, room: int) -> tuple[str, int, int]:
    """Cut a long line to the part around its mark."""
    start, end = min(start, len(line)), min(end, max(len(line), start + 1))
    if len(line) <= room:
        return line, start, end
    left = max(0, min(start - room // 3, len(line) - room))
    cut = line[left : left + room]
    before, after = ("…" if left else ""), ("…" if left + room < len(line) else "")
    shift = len(before) - left
    return f"{before}{cut}{after}", start + shift, min(end + shift, len(before) + len(cut))
