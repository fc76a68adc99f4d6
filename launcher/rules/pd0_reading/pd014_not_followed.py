"""PD014 not-followed."""

from __future__ import annotations

from collections.abc import Iterator

from pd_launch.launcher.rules.registry import Hit, rule
from pd_launch.launcher.sources.engine.named import BENCHMARK
from pd_launch.launcher.sources.text.limits import NOT_FOLLOWED
from pd_launch.schemas.core.launch import Deployment

ZH = """
读取在这里达到上限，后面的内容没有检查

## 作用

读取在某处达到上限而停下时报告：文件过大，步骤、引擎、参数或值过多，嵌套或调用过深，或者用完了一次检查的时间和内存。
脚本无法读取、而未读取的部分里有引擎时也会报告；引擎的启动方式无法跟踪时
（`perl -e`、未知的程序、编码过的 Secret、`eval "$line"` 这样的未知值）在引擎处报告。
全部读完之后，命令或 Python 文件里仍然写着启动引擎、却没有被读取的地方也会报告：含有 `vllm serve` 和模型的词、
没有直接调用而是传给别处的 `LLM` 等类、以文本形式保存的程序（`exec("…LLM(…)")`）；只是打印或搜索的文本不算。
结果指向停下的位置，并写明是哪个上限、哪些内容没有检查。只有可能有影响的内容计入上限（引擎、赋值、读取的文件），
`echo` 这样的普通命令不计入。`vllm bench throughput`、`latency`、`startup` 在自己的进程里创建的引擎也不检查：
报告为警告，同一输入里还有其他引擎时只作提示。

## 为什么重要

上限之后的内容没有检查，而没有任何结果很容易被当成没有问题。

## 适用版本

所有版本。

## 来源

pd-launch 自身的上限。
"""


@rule("PD014", "not-followed", "error", zh=ZH)
def not_followed(deployment: Deployment) -> Iterator[Hit]:
    """Reading stopped at a limit here.

    ## What it does

    Fires where reading stopped at a limit: a file is too large, there are too many steps, engines, arguments or values,
    something is nested or called too deep, or the time and memory of a check are used up. Also where a script cannot be
    read, if an engine is in what was not read, and at an engine started in a way that cannot be followed: by `perl -e`,
    by an unknown program, from an encoded Secret, or through an unknown value (`eval "$line"`). After everything else
    was read, a command or Python file that still names an engine's start is one too: a word with `vllm serve` and a
    model, a class such as `LLM` that is passed on instead of called, a program held as text (`exec("…LLM(…)")`). Text
    that is only printed or searched for is not. The finding is placed
    where reading stopped, and names the limit and what is not checked. Only what can matter counts towards a limit:
    engines, assignments and files that are read, but not plain commands such as `echo`. The engine that
    `vllm bench throughput`, `latency` or `startup` starts in its own process is not checked either: a warning, or an
    info where other engines are checked.

    ## Why it matters

    Nothing after the limit was checked, so silence would look like a clean result.

    ## Example

    ```bash
    for port in {8000..9999}; do
      vllm serve /models/m --port "$port" &
    done
    ```

    ## Use instead

    ```bash
    for port in {8000..8015}; do
      vllm serve /models/m --port "$port" &
    done
    ```

    ## Releases

    All.

    ## Sources

    The limits of pd-launch itself.
    """
    for fault in deployment.faults_of(NOT_FOLLOWED):
        yield Hit(fault.origin, fault.detail, fault.help)
    for fault in deployment.faults_of(BENCHMARK):  # beside other engines it is no gap in what they are
        yield Hit(fault.origin, fault.detail, fault.help, "info" if deployment.nodes else "warning")
