"""PD003 shell-quoting."""

from __future__ import annotations

from collections.abc import Iterator

from pd_launch.launcher.rules.registry import FixEdits, Hit, Msg, rule
from pd_launch.schemas.launch import Deployment, Fault

ZH = r"""
shell 引号或续行写错了

## 作用

报告没有闭合的引号、行尾反斜杠后面跟着空白(这样并不会续行,而是传入一个空白参数),以及因此无法读取的命令。

## 为什么重要

shell 实际运行的命令与您看到的不同:后面的选项丢失,或者引擎收到一个只含空白的参数而退出。

## 示例

```bash
vllm serve /models/m \
  --port 8000 \  
  --tensor-parallel-size 8
```

## 应当这样写

```bash
vllm serve /models/m \
  --port 8000 \
  --tensor-parallel-size 8
```

## 适用版本

所有版本。

## 来源

shell 自身的规则;可用 `bash -n` 和引擎的参数解析器确认。
"""


@rule("PD003", "shell-quoting", "error", zh=ZH)
def shell_quoting(deployment: Deployment) -> Iterator[Hit]:
    r"""The shell's quoting is broken.

    ## What it does

    Reports quotes that are never closed, a backslash followed by blanks at a line's end (which continues nothing and
    passes a blank argument), and commands that therefore cannot be read.

    ## Why it matters

    The shell then runs another command than the one you see: the rest of the options is lost, or the engine gets an
    argument of nothing but blanks and exits.

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
    for kind in ("shell", "blank-word"):
        for fault in deployment.faults_of(kind):
            yield Hit(fault.origin, Msg(fault.detail, fault.detail_zh or fault.detail), _help(fault), fix=_fix(fault))


def _help(fault: Fault) -> Msg:
    if fault.help:
        return Msg(fault.help, fault.help_zh or fault.help)
    if fault.kind == "blank-word":
        return Msg(
            "remove the blanks behind the backslash, or the backslash itself on the last line",
            "删掉反斜杠后面的空白;如果是最后一行,连反斜杠一起删掉",
        )
    return Msg("close what was opened; check every quote up to here", "把打开的引号闭合;检查到这里为止的每个引号")


def _fix(fault: Fault) -> FixEdits | None:
    message = Msg("correct the quoting", "改正引号")
    return FixEdits(message, fault.fix, fault.fix_is_safe) if fault.fix else None
