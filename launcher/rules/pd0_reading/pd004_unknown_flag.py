"""PD004 unknown-flag."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

from pd_launch.launcher.rules.container_facts import dynamo_release, unreleased
from pd_launch.launcher.rules.edits import Edits, fix, rename_flag, renamed, replace_part, set_text
from pd_launch.launcher.rules.registry import Hit, rule
from pd_launch.launcher.rules.values.flag_names import DOTTED_KINDS, meaning, spellings
from pd_launch.launcher.sources.profiles.arguments import DERIVED
from pd_launch.schemas.core.flag_shapes import SWITCHES
from pd_launch.schemas.core.launch import Arg, Deployment, NodeLaunch
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.names import nearest
from pd_launch.schemas.core.switches import paired
from pd_launch.schemas.core.values import knowable
from pd_launch.schemas.core.words import series
from pd_launch.schemas.releases import kserve
from pd_launch.schemas.releases.domains import BOOLEAN_WORDS
from pd_launch.schemas.releases.features import DYNAMO_ROLES_GONE
from pd_launch.schemas.releases.vllm_tables import Table, vllm_table

ZH = r"""
目标版本的 `vllm serve` 没有这个参数

## 作用

把每个参数名与目标版本 vLLM 的参数比较，规则与引擎的解析器相同：下划线等同于短横线，没有歧义时可以只写前缀，
开关类参数可以写成 `--no-x`，JSON 参数可以写成 `--x.key`。不属于任何参数的多余内容也会报告；
在 Python 文件里检查 `LLM` 和 `EngineArgs` 的关键字参数。
Dynamo 的 worker 从 1.4 起没有 `--is-prefill-worker` 和 `--is-decode-worker`：镜像标签表明版本时报告为错误，
看不出版本时报告为警告。KServe 的 Hugging Face 服务端除 vLLM 的参数外还有自己的参数，其余参数会被忽略：报告为警告。

## 为什么重要

引擎在启动时会拒绝不认识的参数。如果这个参数只在别的版本里有，会注明是哪些版本。

## 适用版本

所有版本，分别按各自的参数表检查。vllm-ascend 没有增加自己的参数。

## 来源

0.18.0 到 0.32.0 各版本 CPU 安装包里的参数解析器，由 scripts/read_release.py 静态读取；
0.27.1 和 0.32.0 的表与真实解析器逐项比较。Dynamo 1.4.0 的发布说明（ai-dynamo/dynamo PR 12089）。
KServe 的 huggingfaceserver/__main__.py 与 kserve/model_server.py（2026-08-21）。
"""


_EXTENDED = ("dynamo", "omni")
"""Programs that take the engine's options, and their own beside them."""
_DYNAMO = frozenset({"connector", "endpoint", "is-prefill-worker", "is-decode-worker", "disaggregation-mode"})
"""Options of Dynamo's worker itself."""
_ROLES = {"is-prefill-worker": "prefill", "is-decode-worker": "decode"}
"""Options of Dynamo's worker that say its role, which 1.4 does not have any more: what --disaggregation-mode says."""
_ROLES_UNTIL = (1, 4)
KSERVE = (*kserve.VALUED, *kserve.SWITCHES)
MOST = 100
"""Of one command: who wrote more did not write a command of this engine."""


@rule("PD004", "unknown-flag", "error", zh=ZH, needs="C R")
def unknown_flag(node: NodeLaunch, deployment: Deployment) -> Iterator[Hit]:
    r"""A flag that the target release's `vllm serve` does not have.

    ## What it does

    Compares every flag with those of the target's vLLM, as the engine's parser does: underscores count as dashes, a
    prefix that fits only one name is accepted, a flag that can be switched off also exists as `--no-x`, and a JSON
    argument as `--x.key`. Words that belong to no flag are reported too. In Python files, the keyword arguments of
    `LLM` and `EngineArgs` are checked. A worker of Dynamo has no `--is-prefill-worker` and `--is-decode-worker` from
    1.4 on: an error where the tag of its image says so, a warning where nothing says which Dynamo it is. KServe's
    Hugging Face server takes its own options beside vLLM's and ignores others: a warning.

    ## Why it matters

    The engine refuses a flag that it does not know and exits at start. For a flag that only other releases have, the
    finding lists them.

    ## Example

    ```bash
    # target: vllm==0.32.0
    vllm serve /models/m --tensor-paralel-size 8 '--enable-expert-parallel '
    ```

    ## Use instead

    ```bash
    # target: vllm==0.32.0
    vllm serve /models/m --tensor-parallel-size 8 --enable-expert-parallel
    ```

    ## Releases

    All, each with its own list. vllm-ascend adds no flags.

    ## Sources

    The argument parsers in the CPU wheels of vLLM 0.18.0 to 0.32.0, read statically by scripts/read_release.py; the
    tables of 0.27.1 and 0.32.0 are compared with the real parser. The release notes of Dynamo 1.4.0 (ai-dynamo/dynamo
    pull request 12089). KServe's huggingfaceserver/__main__.py and kserve/model_server.py, 2026-08-21.
    """
    hits = _unknown_flags(node, deployment)
    yield from islice(hits, MOST)
    further = next(hits, None)
    if further is not None:
        message = Msg(
            f"more than {MOST} in one command: the rest are not listed",
            f"一条命令里超过 {MOST} 处：其余的不再列出",
        )
        yield Hit(further.origin, message, Msg("check how the command is put together", "检查这条命令是怎样拼接出来的"))


def _unknown_flags(node: NodeLaunch, deployment: Deployment) -> Iterator[Hit]:
    table = vllm_table(deployment.target)
    broken = {(fault.origin.file, fault.origin.line) for fault in deployment.faults_of("shell")}
    check = _keyword if node.program == "python" else _flag
    newer = unreleased(node)
    for index, arg in enumerate(node.args):
        if not arg.name:
            torn = (arg.origin.file, arg.origin.line) in broken  # another rule says what tore the line apart
            ours = node.program in (*_EXTENDED, "kserve")  # it has options of its own, with values
            if not torn and not ours and not _is_switch_value(arg, node.args[index - 1] if index else None):
                yield _stray(arg, deployment)
        elif node.program == "dynamo" and arg.name in _ROLES:
            yield from _role(arg, node, deployment)
        elif knowable(arg.written) and (node.program not in _EXTENDED or _is_vllms(arg, table)):
            for hit in check(arg, table, deployment):
                sure = not newer or nearest(arg.name.partition(".")[0], spellings(table), _SURELY) is not None
                hit = hit if sure else replace(hit, severity="warning")
                yield _ignored(hit, arg) if node.program == "kserve" else hit


def _ignored(hit: Hit, arg: Arg) -> Hit:
    """Return what KServe's Hugging Face server makes of an option that neither it nor vLLM knows."""
    message = Msg(
        f"{hit.message.en}, nor does KServe's Hugging Face server: {arg.written} is ignored",
        f"{hit.message.zh}，KServe 的 Hugging Face 服务端也没有：{arg.written} 会被忽略",
    )
    own = nearest(arg.name, KSERVE, _SURELY)
    if own is None:
        return replace(hit, message=message, severity="warning")
    right = Msg(f"did you mean --{own}?", f"是不是想写 --{own}？")
    return Hit(hit.origin, message, right, severity="warning", fix=renamed(rename_flag(arg, own), f"--{own}"))


def _role(arg: Arg, node: NodeLaunch, deployment: Deployment) -> Iterator[Hit]:
    """Yield an option that Dynamo no longer has; silent where the image, or the release of vLLM, is of an older one."""
    release = dynamo_release(node)
    gone = DYNAMO_ROLES_GONE.holds(deployment.target) if release is None else release >= _ROLES_UNTIL
    if not gone:
        return
    mode = f"--disaggregation-mode {_ROLES[arg.name]}"
    yield Hit(
        arg.origin,
        Msg(f"Dynamo has no option {arg.written} since 1.4", f"Dynamo 从 1.4 起没有 {arg.written} 选项"),
        Msg(f"write {mode}", f"改写为 {mode}"),
        severity="warning" if release is None else "error",
    )


def _is_vllms(arg: Arg, table: Table) -> bool:
    """Whether an option of Dynamo's worker, or of vLLM-Omni, is, or is surely meant to be, one of the engine's."""
    if meaning(arg, table).spec is not None:
        return True
    base = arg.name.partition(".")[0]
    near = nearest(base, spellings(table), 0.9)
    return near is not None and base not in _DYNAMO and abs(len(near) - len(base)) < 3


def _flag(arg: Arg, table: Table, deployment: Deployment) -> Iterator[Hit]:
    found = meaning(arg, table)
    if found.spec is not None:
        if _glued(arg):
            message = Msg(
                f"{arg.written} and its value must be separate words", f"{arg.written} 和它的值之间应当有空格"
            )
            yield Hit(arg.origin, message, Msg(f"write a space after {arg.written}", f"请在 {arg.written} 后面加空格"))
        elif "." in arg.name and found.spec.kind not in DOTTED_KINDS:
            message = Msg(f"--{found.name} accepts no keys after a dot", f"--{found.name} 不支持用点号写子键")
            yield Hit(arg.origin, message, Msg(f"write only --{found.name}", f"只写 --{found.name}"))
        return
    if arg.written != arg.written.strip():
        yield _blank(arg)
    elif found.candidates:
        names = series(name if name.startswith("-") else f"--{name}" for name in found.candidates[:4])
        message = Msg(f"{arg.written} matches several flags: {names.en}", f"{arg.written} 有歧义：{names.zh}")
        yield Hit(arg.origin, message, Msg("write the full name", "请写全名"))
    elif _certain(arg.name, table, deployment):
        yield _unknown(arg, table, deployment)


def _glued(arg: Arg) -> bool:
    """Whether a value comes directly after a short name of several letters, as in ``-tp8``: no flag to the engine."""
    value = arg.value
    if value is None or not arg.written.startswith("-") or arg.written.startswith(("--", "-O")) or len(arg.written) < 3:
        return False
    name, behind = arg.origin, value.origin
    return (name.file, name.end_line, name.end_column) == (behind.file, behind.line, behind.column)


_SURELY = 0.9
"""How near a name must be to be taken for a slip, where the release itself may have had it."""


def _certain(name: str, table: Table, deployment: Deployment) -> bool:
    """Whether the table is the target's own, or no other release knows the name either."""
    return table.exact or table.release == deployment.target.vllm or not table.releases_with("flags", name)


def _unknown(arg: Arg, table: Table, deployment: Deployment) -> Hit:
    shown = arg.written.partition(".")[0] if "." in arg.name else arg.written
    base = arg.name.partition(".")[0].lstrip("-")
    message = Msg(f"vLLM {table.shown} has no flag {shown}", f"vLLM {table.shown} 没有参数 {shown}")
    elsewhere = _elsewhere(base, table)
    if elsewhere is not None:
        return Hit(arg.origin, message, elsewhere)
    near = _meant(base, table)
    if deployment.target.is_before_rows and nearest(base, spellings(table), _SURELY) is None:
        asked = deployment.target.asked
        older = Msg(f"{asked} is older than the tables and may have it", f"{asked} 比参数表更早，可能有这个参数")
        return Hit(arg.origin, message, older)
    if near is None:
        return Hit(arg.origin, message, Msg("remove it, or look it up in vllm serve --help=all",
                                            "删掉它，或者在 vllm serve --help=all 里查找"))  # fmt: skip
    right = renamed(_renamed(arg, shown, near), f"--{near}" if shown.startswith("-") else near)
    if near in DERIVED and any(arg in node.args for node in deployment.nodes if node.form == "profile"):
        right = None  # a profile says that elsewhere
    return Hit(arg.origin, message, Msg(f"did you mean --{near}?", f"是不是想写 --{near}？"), fix=right)


def _meant(name: str, table: Table) -> str | None:
    """Return the flag that was probably meant; of a switch the one that says the same, never its opposite."""
    known = spellings(table)
    near = nearest(name, known)
    if near is None or near != paired(name):
        return near
    return f"no-{near}" if f"no-{near}" in known else None


def _renamed(arg: Arg, shown: str, near: str) -> Edits | None:
    """Return what writes the flag ``near`` for a flag, of a dotted one for its first name."""
    if shown == arg.written:
        return rename_flag(arg, near)
    return replace_part(arg.text, shown, f"--{near}")


def _elsewhere(name: str, table: Table) -> Msg | None:
    """Say which other releases have a flag, where some do."""
    others = table.releases_with("flags", name) or table.releases_with("flags", name.removeprefix("no-"))
    if not others:
        return None
    first, last = others[0], others[-1]
    if first == last:
        return Msg(f"remove it; only vLLM {first} has it", f"删掉它；只有 vLLM {first} 有这个参数")
    return Msg(f"remove it; vLLM {first} to {last} have it", f"删掉它；只有 vLLM {first} 到 {last} 有这个参数")


def _blank(arg: Arg) -> Hit:
    right = arg.written.strip()
    help_ = Msg(f"write {right} without the space", f"请写 {right}，不要带空格")
    edits = set_text(arg.text, right) if arg.text is not None else None
    return Hit(
        arg.origin,
        Msg(f"the flag {arg.written!r} contains a space", f"参数 {arg.written!r} 里带有空格"),
        help_,
        fix=fix(help_, edits, safe=True),
    )


def _is_switch_value(arg: Arg, before: Arg | None) -> bool:
    """Whether a left-over word such as ``true`` comes after a flag that takes no value: PD007 speaks of it."""
    return before is not None and before.name in SWITCHES and arg.written.lower() in BOOLEAN_WORDS


def _stray(arg: Arg, deployment: Deployment) -> Hit:
    shown = arg.written if len(arg.written) <= 60 else f"{arg.written[:57]}…"
    near = nearest(f"--{shown}", [f"--{name}" for name in spellings(vllm_table(deployment.target))], 0.9)
    help_ = Msg("remove it, or put it after its flag", "删掉它，或者把它放到所属参数的后面")
    if near is not None:
        help_ = Msg(f"did you mean {near}?", f"是不是想写 {near}？")
    return Hit(arg.origin, Msg(f"{shown!r} does not belong to any flag", f"{shown!r} 不属于任何参数"), help_)


def _keyword(arg: Arg, table: Table, deployment: Deployment) -> Iterator[Hit]:
    name = arg.name.removeprefix("no-") if arg.name not in table.flags else arg.name
    keyword = name.replace("-", "_")
    if name in table.flags or table.entry("keywords", keyword) is not None:
        return
    others = table.releases_with("flags", name) or table.releases_with("keywords", keyword)
    if others and not table.exact and table.release != deployment.target.vllm:
        return
    message = Msg(f"vLLM {table.shown} has no argument {keyword}", f"vLLM {table.shown} 没有参数 {keyword}")
    if others:
        yield Hit(arg.origin, message, _elsewhere(name, table) or Msg("remove it", "删掉它"))
        return
    known = [*(flag.replace("-", "_") for flag in table.flags), *table.names("keywords")]
    near = nearest(keyword, known)
    near = None if near is not None and near.replace("_", "-") == paired(name) else near  # it says the opposite
    help_ = Msg(f"did you mean {near}?", f"是不是想写 {near}？") if near else Msg("remove it", "删掉它")
    yield Hit(arg.origin, message, help_, fix=renamed(rename_flag(arg, near), near) if near else None)
