"""From files to deployments: the form of each file by its structure, and which files belong together.

The reader of a form is imported when the form is met: most calls have one, and start the faster.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pd_launch.launcher import budget
from pd_launch.launcher.sources.call import Group, Inputs
from pd_launch.launcher.sources.documents import ReadingDocuments
from pd_launch.launcher.sources.engine.machines import same_host
from pd_launch.launcher.sources.engine.named import KINDS as UNREAD
from pd_launch.launcher.sources.file_faults import LARGER, LESS, NOT_CHECKED, OF_NO_ENGINE, not_text, shell_faults
from pd_launch.launcher.sources.forms_table import text_form
from pd_launch.launcher.sources.no_engine import none_in, speaking
from pd_launch.launcher.sources.release.release_words import FAULT as COMMENT
from pd_launch.launcher.sources.shell.state import Effort
from pd_launch.launcher.sources.text.kinds import is_named_prose, is_python, is_script, is_unit
from pd_launch.launcher.sources.text.limits import not_followed
from pd_launch.schemas.core.launch import Deployment, Fault
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.target import parse_target
from pd_launch.schemas.core.units import human_size
from pd_launch.schemas.core.values import SourceFile, Text

__all__ = ["Inputs", "read", "read_texts"]


def read_texts(
    files: Mapping[str, str], target: str | None = None, host: dict[str, Any] | None = None, separate: bool = False
) -> list[Deployment]:
    """Return the deployments of files given as name and text."""
    sources = [SourceFile(name, text) for name, text in files.items()]
    wanted = parse_target(target) if target else None
    return read(Inputs(sources, target=wanted, host=host, separate=separate))


def read(inputs: Inputs) -> list[Deployment]:
    """Return the deployments of a call, as the contract says which files form one."""
    return _Call(inputs).read()


class _Call(ReadingDocuments):
    """Reads each file of a call by what it is."""

    def read(self) -> list[Deployment]:
        files, part = self.inputs.unique(), self.inputs.part
        for source in files if part is None else files[part.start : part.stop]:
            self.within_budget(source)
        self.together.found.offered += self.elsewhere.left()
        elsewhere = self.sourced.counted_elsewhere()
        self.together.found.nodes = [node for node in self.together.found.nodes if id(node) not in elsewhere]
        self.nested(self.together.found)
        if self.inputs.command:
            self.scripts.given_command(self.inputs.command)
        if self.together.found.online_dp:
            self.scripts.online_dp()
        if self.together.sources:
            self.deployments.append(self.deployment(self.together))
        if self.inputs.quiet:
            self.deployments = list(speaking(self.deployments))
        elif part is None:
            self.report_empty()
        return self.deployments

    def within_budget(self, source: SourceFile) -> None:
        """Read a file, unless the time or the memory of the check is used up."""
        self.effort = Effort()
        try:
            budget.look()
            with budget.interruptible():
                self.file(source)
        except budget.Spent as spent:
            self.left_out(source, not_followed(source.origin(0, 0), spent.limit, NOT_CHECKED, LESS))

    def left_out(self, source: SourceFile, fault: Fault) -> None:
        """Take in a file that is not checked, with what says so."""
        group = Group() if self.inputs.separate else self.together
        group.sources[source.path] = SourceFile(source.path, "")  # nothing looks at its text
        group.found.add_faults([fault])
        if self.inputs.separate:
            self.deployments.append(self.deployment(group))

    def file(self, source: SourceFile) -> None:
        if self.is_large(source):
            size = human_size(self.inputs.max_size)
            limit = Msg(f"larger than {size}", f"大于 {size}")
            self.left_out(source, not_followed(source.origin(0, 0), limit, NOT_CHECKED, LARGER))
            return
        group = Group() if self.inputs.separate else self.together
        if "\0" in source.text:
            group.sources[source.path] = source
            group.found.faults.append(not_text(source))
        elif is_python(source):
            from pd_launch.launcher.sources.python.file import read_python

            group.sources[source.path] = source
            group.found.forms.add("python")
            read_python(source, group.found)
            self.nested(group.found)
        elif is_unit(source):
            self.unit(source, group)
        elif is_named_prose(source):
            self.prose(source, group)
        elif (form := text_form(source)) is not None:
            group.sources[source.path] = source
            form.read(source, source, group.found)
            self.nested(group.found)
            self.profiles(group.found)
        elif self.yaml_file(source, group):
            pass
        elif self.is_prose(source):
            self.prose(source, group)
        else:
            group.sources[source.path] = source
            before = len(group.found.nodes)
            whole = Text.verbatim(source, 0, len(source.text))
            self.scripts.top_script(whole, group)
            same_host(group.found.nodes[before:], source.path)
            if len(group.found.nodes) > before or is_script(source):
                group.found.faults += shell_faults(whole)
        if self.inputs.separate and group.sources:
            self.deployments.append(self.deployment(group))

    def report_empty(self) -> None:
        """Say that no input of the call holds an engine, where nothing else explains it."""
        if any(
            d.nodes or any(fault.kind not in (*UNREAD, *OF_NO_ENGINE, COMMENT) for fault in d.faults)
            for d in self.deployments
        ):
            return
        for deployment in self.deployments:
            deployment.faults += [none_in(source) for source in deployment.sources.values()]
