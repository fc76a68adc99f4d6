"""PD702 env-value."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator

from pd_launch.launcher.rules.edits import fix, put_in_quotes
from pd_launch.launcher.rules.pd7_environment.addresses import misread_addresses
from pd_launch.launcher.rules.registry import Hit, rule
from pd_launch.schemas.core.launch import Deployment, EnvVar, NodeLaunch
from pd_launch.schemas.core.lazy import lazy_pattern
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.quoting import PLAIN_YAML
from pd_launch.schemas.core.values import Text
from pd_launch.schemas.core.words import series
from pd_launch.schemas.releases.environment import Variable, removed, variable

_WHOLE = Msg("a whole number", "一个整数")
_ON, _OFF = ("true", "yes", "on", "y", "enable", "enabled"), ("false", "no", "off", "n", "disable", "disabled", "none")

_BOOLEAN = r"true|True|TRUE|false|False|FALSE|yes|Yes|YES|no|No|NO|on|On|ON|off|Off|OFF"
_NO_STRING = {
    "manifest": lazy_pattern(rf"{_BOOLEAN}|[-+]?(\d[\d_]*)?\.?\d+([eE][-+]?\d+)?|0x[0-9a-fA-F]+"),
    "compose": lazy_pattern(r"true|True|TRUE|false|False|FALSE"),
}
"""How a variable was set → texts without quotes that are no strings to its reader. Compose takes numbers."""

ZH = """
环境变量的值会被读错

## 作用

报告程序无法解析、或者会解析成别的意思的值：按整数解析的开关写了 `true`，端口超出 1–65535，模式超出允许范围，
应当是 JSON 却不是合法的 JSON，设备列表写成 `0-7`，该写网卡名的地方写了地址（或者相反），
`VLLM_NIXL_SIDE_CHANNEL_HOST=0.0.0.0`（其他引擎会连到它们自己），清单里的数字或布尔值没有加引号等。
只检查目标版本确实读取的变量。

## 为什么重要

程序要么在启动时报错退出，要么悄悄按另一个值运行。

## 适用版本

因版本而异：例如 `VLLM_ASCEND_ENABLE_FUSED_MC2=2` 从 <since fused-mc2-two-values> 起被拒绝。

## 来源

vllm/envs.py（0.18.0、0.23.0、0.27.1、0.32.0）；vllm_ascend/envs.py 与 ascend_config.py（0.18.0 至 0.26.0rc1）；
CANN 环境变量手册；Mooncake issue 3749。
"""


@rule("PD702", "env-value", "error", zh=ZH, needs="C R")
def env_value(node: NodeLaunch, deployment: Deployment) -> Iterator[Hit]:
    """The value of an environment variable is misread.

    ## What it does

    Fires on a value that its reader cannot parse, or misreads: `true` where a switch is read as a number, a port
    outside 1-65535, a mode that the release does not have, invalid JSON, devices written as `0-7`, an address where a
    network interface is expected (or the other way round), `VLLM_NIXL_SIDE_CHANNEL_HOST=0.0.0.0`, at which other
    engines only reach themselves, and a number or a boolean without quotes in a manifest. Only variables that the
    target really reads are checked.

    ## Why it matters

    The reader stops the engine at start, or continues with a value other than the one you meant.

    ## Example

    ```bash
    # target: 0.25.1rc1
    export VLLM_ASCEND_ENABLE_MLAPO=true
    vllm serve /models/m
    ```

    ## Use instead

    ```bash
    # target: 0.25.1rc1
    export VLLM_ASCEND_ENABLE_MLAPO=1
    vllm serve /models/m
    ```

    ## Releases

    Differs: `VLLM_ASCEND_ENABLE_FUSED_MC2=2`, for example, is refused from <since fused-mc2-two-values> on.

    ## Sources

    vllm/envs.py at 0.18.0, 0.23.0, 0.27.1 and 0.32.0; vllm_ascend/envs.py and ascend_config.py at 0.18.0 to 0.26.0rc1;
    CANN's manual of environment variables; Mooncake issue 3749; Gloo's device.cc; kthena pull request 1781;
    Kubernetes' EnvVar and the Compose Specification, which take strings.
    """
    for misread in misread_addresses(node, deployment):
        shown = _shown(misread.variable.value.string() or "")
        yield Hit(
            misread.variable.value.origin,
            Msg(
                f"{misread.variable.name} cannot be {shown!r}: {misread.effect.en}",
                f"{misread.variable.name} 不能是 {shown!r}：{misread.effect.zh}",
            ),
            misread.help,
            severity=misread.severity,
        )
    for name, given in node.env.items():
        yield from _unquoted(given)
        found = variable(name, deployment.target)
        text = given.value.string()
        if found is None or text is None or removed(name, deployment.target):
            continue
        wanted = _wanted(found, text)
        if wanted is None:
            continue
        silent = Msg("is silently misread", "会被悄悄读错")
        effect = Msg("stops the engine", "会使引擎无法启动") if found.refused else silent
        yield Hit(
            given.value.origin,
            Msg(f"{name} cannot be {_shown(text)!r}: it {effect.en}", f"{name} 不能是 {_shown(text)!r}：{effect.zh}"),
            Msg(f"write {wanted.en}", f"请写{wanted.zh}"),
            severity="error" if found.refused else "warning",
        )


def _shown(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:60]}…"


def _unquoted(given: EnvVar) -> Iterator[Hit]:
    """Report a value of a manifest, or a boolean of a compose file, that YAML does not take for a string."""
    text, pattern = given.value.text, _NO_STRING.get(given.how)
    if text is None or pattern is None or not pattern.fullmatch(text.value):
        return
    if _in_quotes(text) or _is_part(text):
        return
    reader = "Kubernetes" if given.how == "manifest" else "Compose"
    place = given.value.origin
    yield Hit(
        place,
        Msg(
            f"{given.name} is {text.value} without quotes: {reader} accepts only strings and rejects the file",
            f"{given.name} 的值 {text.value} 没有引号：{reader} 只接受字符串，会拒绝这个文件",
        ),
        Msg(f'write "{text.value}"', f'请写 "{text.value}"'),
        fix=fix(Msg("put it in quotes", "加上引号"), put_in_quotes(given.value), safe=True),
    )


def _is_part(text: Text) -> bool:
    """Whether a text is what follows the name in an entry ``NAME=VALUE`` of a list: the whole entry is a string."""
    return text.spots[0] > 0 and text.source.text[text.spots[0] - 1] == "="


def _in_quotes(text: Text) -> bool:
    """Whether a scalar of YAML is in quotes, or in a block."""
    quoting = text.quoting(0)
    while quoting is not None and not quoting.kind.startswith("yaml"):
        quoting = quoting.outer
    return quoting is None or quoting.kind not in PLAIN_YAML


def _wanted(found: Variable, text: str) -> Msg | None:
    """Return what should be written instead, or None where the text is right."""
    if found.choices:
        if text.strip().lower() in map(str.lower, found.choices) or (not text and not found.refused):
            return None
        listed = series(choice for choice in found.choices if choice)
        return Msg(f"one of {listed.en}", f"以下值之一：{listed.zh}")
    check = _CHECKS.get(found.kind)
    return check(text) if check else None


def _number(text: str) -> Msg | None:
    return None if re.fullmatch(r"\s*[+-]?\d[\d_]*\s*", text) else _WHOLE


def _flag(text: str) -> Msg | None:
    if _number(text) is None:
        return None
    return Msg("0", " 0") if text.strip().lower() in _OFF else Msg("1 or 0", " 1 或 0")


def _float(text: str) -> Msg | None:
    try:
        float(text)
    except ValueError:
        return Msg("a number", "一个数")
    return None


def _port(text: str) -> Msg | None:
    if _number(text) is None and 1 <= int(text.strip()[:12]) <= 65535:
        return None
    return Msg("a port from 1 to 65535", " 1 到 65535 之间的端口")


def _true(text: str) -> Msg | None:
    return Msg("1 or true to switch it on", " 1 或 true 来打开") if text.strip().lower() in (*_ON[1:], "2") else None


def _one(text: str) -> Msg | None:
    return Msg("1 to switch it on", " 1 来打开") if text.strip().lower() in _ON else None


def _seed(text: str) -> Msg | None:
    if text in ("", "random") or (re.fullmatch(r"\d{1,10}", text) and int(text) <= 4294967295):
        return None
    return Msg("a number from 0 to 4294967295", " 0 到 4294967295 之间的整数")


def _devices(text: str) -> Msg | None:
    if re.fullmatch(r"\s*\d+\s*-\s*\d+\s*|[\[(].*[\])]|\s*\d+(\s+\d+)+\s*|\s*(all|npu.*|davinci.*)\s*", text, re.I):
        return Msg("comma-separated device numbers, such as 0,1,2,3", "用逗号分隔的设备编号，如 0,1,2,3")
    return None


def _json(text: str) -> Msg | None:
    if not text.strip().startswith(("{", "[", "'", '"')):
        return None  # a file's name
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return Msg(
            'strict JSON, with every key in double quotes: {"key": …}', '严格的 JSON，每个键都用双引号：{"key": …}'
        )
    return None


_CHECKS: dict[str, Callable[[str], Msg | None]] = {
    "flag": _flag,
    "int": _number,
    "float": _float,
    "port": _port,
    "true": _true,
    "one": _one,
    "seed": _seed,
    "devices": _devices,
    "json": _json,
}
