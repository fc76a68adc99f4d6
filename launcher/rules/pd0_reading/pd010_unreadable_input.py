"""PD010 unreadable-input."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from pd_launch.launcher.rules.registry import Hit, rule
from pd_launch.launcher.sources.file_faults import NOT_TEXT
from pd_launch.launcher.sources.forms_table import listed
from pd_launch.launcher.sources.text.limits import NOT_PYTHON
from pd_launch.schemas.core.launch import Deployment
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.severity import Severity

ZH = """
输入不符合任何支持的形式

## 作用

文件能读取，但既不是配置文件，也不是脚本、容器命令、清单、compose 或 e2e 文件时报告；
给出的文件里一个引擎也没有时也报告，
并尽量指出没能识别的是什么（二进制文件、不支持的形式，或者提到 vllm 却不属于任何形式的那一处）。检查目录时只报告一次；
加 `--allow-no-engine` 则不报告；但不是文本的文件（含 NUL 字符、UTF-16）总会报告，检查目录时只要其中提到引擎就报告；
启动引擎、而当前 Python 无法解析的 Python 文件也是如此。
容器命令没有运行 `vllm serve` 时会指出这一点：引擎由容器里的脚本启动，请在同一次调用里给出该脚本。

YAML 模板（Helm、Jinja）不渲染就直接读取，条件的每个分支各读一次；读不了时给出警告，这时请检查 `helm template` 的输出。

输入里写的配置文件（`pd-launch decode --profile X`、`--config X`）如果不在该输入所在的目录或当前目录之下（提示），
或者不是普通文件、太大（警告），就不会读取，其中的内容视为未知。

## 为什么重要

实际上什么也没有检查，而没有任何结果很容易被当成没有问题。

## 适用版本

所有版本。

## 来源

pd-launch 支持读取的形式。
"""


@rule("PD010", "unreadable-input", "error", zh=ZH)
def unreadable_input(deployment: Deployment) -> Iterator[Hit]:
    """The input fits no supported form.

    ## What it does

    Fires when a file was read but is not a profile, script, container command, manifest, compose or e2e file, and when
    none of the files given contains an engine. Where it can, it says why: the file is not text, the form is not
    supported, or vllm is mentioned in an unsupported form. For folders it is reported once, and `--allow-no-engine`
    leaves it out; but a file that is not text (NUL characters, UTF-16) is always reported, in folders if it names an
    engine, and so is a Python file that starts one and that this Python cannot parse. For a container whose command
    does not run `vllm serve` it says so: a script then starts the engine inside, and belongs in the same call of
    pd-launch.

    A YAML template (Helm, Jinja) is read without rendering it, each branch of a condition separately; where that is not
    possible, a warning asks for the output of `helm template`.

    A file that an input names (`pd-launch decode --profile X`, `--config X`) is not read where it is outside both the
    folder of that input and the working folder (an info), is not a regular file or is too large (a warning): what such
    a file says is unknown.

    ## Why it matters

    Nothing could be checked, so silence would look like a clean result.

    ## Example

    ```bash
    echo 'no engine is started here'
    ```

    ## Use instead

    ```bash
    vllm serve /models/m --tensor-parallel-size 8
    ```

    ## Releases

    All.

    ## Sources

    The forms that pd-launch reads.
    """
    for fault in deployment.faults_of(NOT_TEXT):
        yield Hit(fault.origin, fault.detail, fault.help or listed())
    for fault in (*deployment.faults_of("unreadable"), *deployment.faults_of(NOT_PYTHON)):
        help_ = fault.help or _help(deployment, fault.origin.file)
        yield Hit(fault.origin, fault.detail, help_)
    for kind, severity in _NOT_READ.items():
        for fault in deployment.faults_of(kind):
            message, help_ = fault.detail, fault.help
            yield Hit(fault.origin, message, help_, severity=severity)


_NOT_READ: dict[str, Severity] = {"unread": "warning", "elsewhere": "info", "template": "warning"}
"""Files that the input names: what they say is unknown. And templates that are no YAML before they are filled in."""


def _help(deployment: Deployment, file: str) -> Msg:
    """Return what to give; for a container without an engine, the script that starts one inside it."""
    containers = deployment.forms & {"docker", "compose", "manifest"}
    if deployment.nodes or not containers:
        return listed()
    call = f"pd-launch check {shlex.quote(file)} decode.sh"
    if "docker" in containers:
        here, here_zh = "this container's command does not run vllm serve", "这个容器的命令没有运行 vllm serve"
    else:
        here, here_zh = "no container here runs vllm serve", "这里的容器都没有运行 vllm serve"
    return Msg(
        (
            f"{here}: if a script starts it inside the container, pass both files in one call, such as `{call}`; "
            "otherwise write the command here"
        ),
        f"{here_zh}：如果是由容器里的脚本启动的，请把两个文件一起给出，例如 `{call}`；否则请把命令写在这里",
    )
