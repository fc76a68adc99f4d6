"""PD005 duplicate-flag."""

from __future__ import annotations

from collections.abc import Iterator

from pd_launch.launcher.rules.registry import Hit, rule
from pd_launch.schemas.core.compare import same
from pd_launch.schemas.core.launch import Arg, Deployment, NodeLaunch
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.switches import REPEATABLE, switch_of
from pd_launch.schemas.core.values import knowable

ZH = """
同一个参数写了两次

## 作用

检查 `vllm serve` 的命令里有没有重复的参数，包括不同写法（`-tp` 与 `--tensor-parallel-size`，
`--max_num_seqs` 与 `--max-num-seqs`）以及它的否定形式。

## 为什么重要

只有最后一个生效，您看到的值可能并不是真正起作用的值。

## 适用版本

所有版本。

## 来源

vLLM 的参数解析器；在 0.23.0、0.27.1 和 0.32.0 上运行验证过。
"""


@rule("PD005", "duplicate-flag", "warning", zh=ZH)
def duplicate_flag(node: NodeLaunch, deployment: Deployment) -> Iterator[Hit]:
    """A flag is given twice.

    ## What it does

    Looks for flags of `vllm serve` given more than once in a command, also in another spelling (`-tp` and
    `--tensor-parallel-size`, `--max_num_seqs` and `--max-num-seqs`) or with their negation.

    ## Why it matters

    The last one wins silently, so the value you look at may not be the one in effect.

    ## Example

    ```bash
    vllm serve /models/m --max-num-batched-tokens 8 --max-num-seqs 8 --max-num-batched-tokens 4096
    ```

    ## Use instead

    ```bash
    vllm serve /models/m --max-num-seqs 8 --max-num-batched-tokens 4096
    ```

    ## Releases

    All.

    ## Sources

    The argument parser of vLLM; run on 0.23.0, 0.27.1 and 0.32.0.
    """
    seen: dict[str, Arg] = {}
    for arg in node.args:
        if not arg.name or "." in arg.name or arg.name in REPEATABLE or not knowable(arg.written):
            continue
        name = _positive(arg.name)
        earlier = seen.get(name)
        if earlier is not None and earlier.origin != arg.origin:
            yield _hit(name, earlier, arg)
        seen[name] = arg


def _positive(name: str) -> str:
    found = switch_of(name)
    return found[0] if found is not None else name


def _hit(name: str, earlier: Arg, arg: Arg) -> Hit:
    message = (
        Msg(f"--{name} is given twice with the same value", f"--{name} 写了两次，值相同")
        if earlier.name == arg.name and _alike(earlier, arg)
        else Msg(f"--{name} is given twice: the last one wins", f"--{name} 写了两次：最后一个生效")
    )
    return Hit(
        arg.origin,
        message,
        Msg("keep one of them", "只保留一个"),
        related=((earlier.origin, Msg("it is first given here", "第一次出现在这里")),),
    )


def _alike(one: Arg, other: Arg) -> bool:
    """Whether two flags of one name surely say the same: bare, or with values that are known."""
    if one.value is None or other.value is None:
        return one.value is other.value
    return same([one.value, *one.more], [other.value, *other.more]) is True
