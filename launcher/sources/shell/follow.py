"""Shell scripts as people write them: followed statement by statement, never executed.

Every simple command is collected with its expanded words and the environment it would be given. Both branches of a
condition are followed; loops over known values are unrolled, others are followed once with an unknown variable.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import Any

from pd_launch.launcher import budget
from pd_launch.launcher.sources.shell.model import MAX_COMMANDS, MAX_EXPORTED, MAX_STEPS, Command, Script
from pd_launch.launcher.sources.shell.parser import held, masked, parser_of_scripts, unclosed, unread
from pd_launch.launcher.sources.shell.scan import scan
from pd_launch.launcher.sources.shell.sourced import Sourcing
from pd_launch.launcher.sources.shell.state import Effort, Scope
from pd_launch.launcher.sources.shell.weight import word_matters
from pd_launch.launcher.sources.text.chart import unread_branches
from pd_launch.launcher.sources.text.limits import not_followed
from pd_launch.launcher.sources.text.templates import BRANCH, MAX_VARIANTS, variants, without_gone, woven
from pd_launch.launcher.sources.text.weave import without_asides, without_returns
from pd_launch.schemas.core.launch import Fault
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.values import Text

__all__ = ["MAX_COMMANDS", "MAX_EXPORTED", "MAX_STEPS", "Command", "Script", "read_shell"]

MAX_UNCLOSED = 3
"""Of what a script never closes; one is enough for the shell to refuse it."""
MAX_HEREDOCS = 3000
"""Here-documents of a script: the parser's time grows with the square of their number."""


def read_shell(text: Text, scope: Scope | None = None, effort: Effort | None = None) -> Script:
    """Follow a script from a scope (default: an empty one); scripts of one file share their effort.

    Of a template in which lines of control choose between branches, what each choice starts is given once.

    Raises:
        ShellUnavailable: tree-sitter-bash is not installed.
    """
    text = without_gone(without_returns(text))
    first, *others = variants(text.value)
    scope, effort = scope or Scope(), effort or Effort()
    more = [_read(woven(text, variant), scope.copy(), effort) for variant in others]
    script = _read(woven(text, first) if first.parts else text, scope, effort)
    for variant, other in zip(others, more, strict=True):
        _add(script, other, variant.branch)
    if first.cut and word_matters(text.value):
        script.faults.append(unread_branches(text.origin(0, 0), MAX_VARIANTS))
    return script


def _add(script: Script, other: Script, branch: tuple[tuple[int, int], ...]) -> None:
    """Add what a script starts if another branch of its template is taken: what differs is never there together."""
    known = {_telling(command) for command in script.commands}
    anew = {_telling(command) for command in other.commands}
    for command in script.commands:
        if _telling(command) not in anew:
            command.branches = (*command.branches, (BRANCH, 0))
    for command in other.commands:
        if _telling(command) not in known:
            command.branches = (*command.branches, *branch)
            script.commands.append(command)
    script.faults += [fault for fault in other.faults if fault not in script.faults]
    places = {held.spots[0] for held in script.held}
    script.held += [held for held in other.held if held.spots[0] not in places]


def _telling(command: Command) -> tuple[object, ...]:
    """Return what tells a command from another: its place, its words and its variables."""
    words = tuple(word.value for word in command.words)
    return command.origin, words, tuple((name, value.value, how) for name, (value, how) in command.env.items())


def _read(text: Text, scope: Scope, effort: Effort) -> Script:
    """Follow a script in which nothing is filled in."""
    if text.value.count("<<") > MAX_HEREDOCS:
        limit, limit_zh = f"more than {MAX_HEREDOCS} here-documents", f"here-document 超过 {MAX_HEREDOCS} 个"
        return Script(faults=[not_followed(text.origin(0, 0), Msg(limit, limit_zh))])
    text = without_asides(text)
    tree = parser_of_scripts().parse(masked(text.value).encode("utf-8", "surrogatepass"))
    script = Script(faults=scan(text))
    runner = Runner(text, script, effort)
    try:
        runner.statement(tree.root_node, scope)
        runner.follow_uncalled(scope)
    except RecursionError:
        runner.cut(runner.place, Msg("nested too deep", "嵌套过深"))
    except budget.Spent as spent:
        runner.cut(runner.place or tree.root_node, spent.limit)
    runner.sweep(tree.root_node)
    script.commands += runner.asides
    script.faults += runner.words.cuts
    if tree.root_node.has_error:
        runner.look_behind_errors(tree.root_node)
        script.faults += [
            _unclosed(runner, node, word) for node, word in islice(unclosed(tree.root_node), MAX_UNCLOSED)
        ]
    return script


def _unclosed(runner: Runner, node: Any, word: str) -> Fault:
    start = runner.words.span(node)[0]
    return Fault(
        "shell",
        runner.base.origin(start, start + 1),
        Msg(
            f"what begins here is never closed with {word}: the shell refuses the whole script, and none of its "
            "engines starts",
            f"从这里开始的结构没有用 {word} 结束：shell 会拒绝整个脚本，其中的引擎都不会启动",
        ),
        help=Msg(f"write {word} where it ends", f"在它结束的地方写 {word}"),
    )


class Runner(Sourcing):
    """Follows one script, and looks at what the parser could not read."""

    def sweep(self, root: Any) -> None:
        """Say where an engine is in a command that was never followed, and that no known condition leaves out."""
        waiting = [] if self.cut_at or self.full else [root]
        while waiting:
            node = waiting.pop()
            if node.id in self.left_out or not self.engines.within(*self.words.span(node)):
                continue
            if node.type == "command" and node.id not in self.seen:
                self.cut(node, Msg("this command was not followed", "这条命令没有被跟踪"))
                return
            waiting += node.children

    def look_behind_errors(self, root: Any) -> None:
        """Say where the parser lost its way, if an engine is in what it could not read."""
        is_held = held([command.origin for command in self.script.commands], self.source)
        for node in unread(root):
            start, end = self.words.span(node)
            if any(
                start <= at < end and not (is_held(self.base.spots[at]) or self._is_told(at)) for at in self.engines.at
            ):
                self.cut(node, Msg("the script cannot be read here", "脚本从这里起无法读取"))
                return

    def _is_told(self, at: int) -> bool:
        """Whether what is at ``at`` is a comment or a message that speaks of an engine."""
        line = self.base.value[self.base.value.rfind("\n", 0, at) + 1 : at]
        return "#" in line or re.search(r"\b(?:echo|printf)\b", line) is not None
