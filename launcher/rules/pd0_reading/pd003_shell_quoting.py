"""PD003 shell-quoting."""

from __future__ import annotations

from collections.abc import Iterator

from pd_launch.launcher.rules.edits import fix
from pd_launch.launcher.rules.registry import FixEdits, Hit, rule
from pd_launch.launcher.sources.engine.command_line import QUOTED
from pd_launch.launcher.sources.file_faults import LINE_ENDS, MARK, MARK_ALONE
from pd_launch.schemas.core.launch import Deployment, EnvVar, Fault
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.severity import Severity

_NO_SHELL = ("compose", "manifest", "yaml", "docker", "e2e")
_OURS = (
    "ASCEND_", "ACL_", "CUDA_", "GLOO_", "HCCL_", "LD_", "MOONCAKE_", "MMC_", "NCCL_", "OMP_", "PYTHON", "PYTORCH_",
    "TASK_", "TP_", "UCX_", "VLLM_",
)  # fmt: skip
"""How the names of variables begin that the engine, or what it runs on, reads."""
ZH = r"""
shell 引号或续行写错了

## 作用

报告没有闭合的引号、行尾反斜杠后面跟着空白（这样并不会续行，而是传入一个空白参数），以及因此无法读取的命令。还报告加了两次引号、
使引号成为参数或变量的值的一部分的情况；以及各行以 CRLF（Windows 换行）结尾的脚本：shell 会把回车符当成每行最后一个词的
一部分，以 `#!` 开头的脚本也无法启动。以字节顺序标记（BOM）开头的脚本也会报告：shell 不会跳过它，因此找不到
第一个命令；如果第一行是注释或 `#!`，则只是警告。

## 为什么重要

shell 实际运行的命令与您看到的不同：后面的选项会丢失，或者引擎因为收到一个只含空白的参数而退出。

## 适用版本

所有版本。

## 来源

shell 自身的规则；可用 `bash -n` 和引擎的参数解析器确认。
"""


@rule("PD003", "shell-quoting", "error", zh=ZH)
def shell_quoting(deployment: Deployment) -> Iterator[Hit]:
    r"""The shell's quoting is broken.

    ## What it does

    Reports quotes that are never closed, a backslash followed by blanks at a line's end (which continues nothing and
    passes a blank argument), and commands that therefore cannot be read. Also quoting that is applied twice, so that
    quotes are part of an argument or of a variable, and scripts whose lines end with CR LF, as on Windows: to the shell
    each carriage return is part of the last word of its line, and a script that begins with `#!` does not start. Also a
    script that begins with a byte order mark, which the shell does not skip: the first command is not found. Where the
    first line is a comment or `#!`, this is a warning.

    ## Why it matters

    The shell then runs another command than the one you see: the rest of the options is lost, or the engine gets an
    argument of only blanks and exits.

    ## Example

    ```bash
    vllm serve /models/m \
      --port 8000 \  
      --tensor-parallel-size 8
    ```

    ## Use instead

    ```bash
    vllm serve /models/m \
      --port 8000 \
      --tensor-parallel-size 8
    ```

    ## Releases

    All.

    ## Sources

    The shell's own rules; `bash -n` and the engine's argument parser confirm them.
    """
    for kind in ("shell", "blank-word", LINE_ENDS, MARK, MARK_ALONE):
        severity: Severity | None = "warning" if kind == MARK_ALONE else None
        for fault in deployment.faults_of(kind):
            yield Hit(fault.origin, fault.detail, _help(fault), severity=severity, fix=_fix(fault))
    for node in deployment.nodes:
        for variable in node.env.values():
            yield from _quoted_variable(variable)


def _quoted_variable(variable: EnvVar) -> Iterator[Hit]:
    """A variable of a YAML file whose quotes are part of its value: there no shell takes them off."""
    text = variable.value.string()
    match = QUOTED.fullmatch(text) if text and variable.how in _NO_SHELL else None
    if match is None or not variable.name.startswith(_OURS):
        return
    yield Hit(
        variable.value.origin,
        Msg(
            f"the quotes are part of the value of {variable.name}: it is {text}",
            f"引号成了 {variable.name} 的值的一部分：它的值是 {text}",
        ),
        Msg(f"write {match[2]} without them, or quote the whole entry", f"去掉引号写成 {match[2]}，或者给整项加引号"),
    )


def _help(fault: Fault) -> Msg:
    if fault.help:
        return fault.help
    if fault.kind == "blank-word":
        return Msg(
            "remove the spaces after the backslash, or the backslash itself on the last line",
            "删掉反斜杠后面的空白；如果是最后一行，连反斜杠一起删掉",
        )
    return Msg("close the open quote; check every quote up to here", "补上缺少的引号；到这里为止的每个引号都要检查")


def _fix(fault: Fault) -> FixEdits | None:
    said = Msg("correct the quoting", "改正引号")
    if fault.kind in (MARK, MARK_ALONE):
        said = Msg("remove the byte order mark", "删掉 BOM")
    elif fault.kind == LINE_ENDS:
        said = Msg("end the lines with LF", "改为 LF 换行")
    return fix(said, fault.fix, fault.fix_is_safe)
