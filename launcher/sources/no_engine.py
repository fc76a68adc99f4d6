"""What is said of an input without an engine: that there is none, and, where it can be told, what is not read of it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import takewhile
from pathlib import PurePath

from pd_launch.launcher.sources.engine.named import BENCHMARK
from pd_launch.launcher.sources.file_faults import LINE_ENDS
from pd_launch.launcher.sources.release.installs import CommandLine
from pd_launch.launcher.sources.release.release_words import FAULT as COMMENT
from pd_launch.launcher.sources.text.kinds import PROSE
from pd_launch.launcher.sources.text.limits import NOT_PYTHON
from pd_launch.schemas.core.launch import Deployment, Fault
from pd_launch.schemas.core.lazy import lazy_pattern
from pd_launch.schemas.core.msg import NOTHING, Msg
from pd_launch.schemas.core.units import counted
from pd_launch.schemas.core.values import Origin, SourceFile

KIND = "unreadable"
_MENTION = lazy_pattern(r"vllm[ \t]+serve|vllm\.entrypoints|--kv-transfer-config|(?<![\w/-])vllm(?![\w/-])")
_STARTS = lazy_pattern(r"vllm[ \t]+serve|vllm\.entrypoints|--kv-transfer-config")
_BUILT = lazy_pattern(
    r"""["'](?:\S{0,200}/)?vllm["']\s{0,99},\s{0,99}["']serve["']|\b(?:LLM|(?:Async)?EngineArgs|LLMConfig)\("""
)
"""The same in Python, as a list or as an object."""
_OF_A_FORM = lazy_pattern(r"^(?:apiVersion|services|prefill|decode):", re.MULTILINE)
_ONLY_COMMANDS: dict[tuple[str, ...], tuple[str, str]] = {
    ("toml",): ("TOML files", "TOML 文件"),
    ("ini", "conf", "cfg"): ("INI files other than supervisord's", "supervisord 以外的 INI 文件"),
    ("ps1", "bat", "cmd"): ("Windows scripts", "Windows 脚本"),
    (*(ending[1:] for ending in PROSE), "txt"): ("documents", "说明文档"),
    ("jsonnet", "libsonnet", "cue", "dhall"): ("sources in configuration languages", "配置语言的源文件"),
    ("groovy", "gradle"): ("Groovy files", "Groovy 文件"),
    ("go", "js", "ts", "rs", "java", "rb", "pl", "lua", "c", "cc", "cpp", "h"): (
        "programs other than Python and shell scripts",
        "Python 和 shell 脚本以外的程序",
    ),
    ("xml", "csv", "log", "sql"): ("files of this kind", "这类文件"),
}


def none_in(source: SourceFile) -> Fault:
    """Return the fault of a file without an engine in a call without any, at the first word that speaks of one."""
    if isinstance(source, CommandLine):
        return _none_started(source)
    if not source.text.strip():
        return Fault(
            KIND, source.origin(0, 0), Msg("no vLLM engine found: it is empty", "没有找到 vLLM 引擎：内容为空")
        )
    ending = PurePath(source.path).suffix.lower().lstrip(".") or PurePath(source.path).name.lower().lstrip(".")
    for endings, (en, zh) in _ONLY_COMMANDS.items():
        if ending in endings:
            en = f"of {en}, only commands as in a shell are read, and none here starts vllm serve"
            zh = f"{zh}中只读取 shell 形式的命令，这里没有启动 vllm serve 的命令"
            return _fault(source.origin(0, 0), en, zh, True)
    mention = _MENTION.search(source.text)
    if mention is None:
        en = "not a profile, not a known manifest, and no command starts vllm serve"
        return _fault(source.origin(0, 0), en, "它不是配置文件，也不是已知的清单，其中没有启动 vllm serve 的命令")
    en, zh = f"“{mention[0]}” appears here in a form that is not supported", f"这里的“{mention[0]}”不是支持的形式"
    return _fault(source.origin(*mention.span()), en, zh)


def _none_started(command: CommandLine) -> Fault:
    """Return the fault of a command after ``--``; one of vLLM is named, as others of it than ``serve`` are meant."""
    names = [word.rpartition("/")[2] for word in command.words]
    start = names.index("vllm") if "vllm" in names else len(names)
    name = " ".join(takewhile(lambda word: not word.startswith("-"), names[start : start + 3]))
    en, zh = (
        (f"“{name}” starts none", f"“{name}”不启动引擎") if name else ("this command starts none", "这条命令不启动引擎")
    )
    return Fault(
        KIND,
        command.origin(0, 0),
        Msg(f"no vLLM engine found: {en}", f"没有找到 vLLM 引擎：{zh}"),
        help=_AFTER_DASHES if name else NOTHING,
    )


def speaking(deployments: Iterable[Deployment]) -> Iterator[Deployment]:
    """Iterate over the deployments of which something is to be said, where files without an engine are no mistake.

    What is wrong with the text of such a file counts only where it names an engine, which may be lost by that.
    """
    for deployment in deployments:
        kept = [fault for fault in deployment.faults if fault.kind != KIND]
        if not deployment.nodes:
            texts = [source.text for source in deployment.sources.values()]
            strong = any(_STARTS.search(text) for text in texts)
            weak = strong or any(_OF_A_FORM.search(text) and "vllm" in text for text in texts)
            built = any("vllm" in text and _BUILT.search(text) for text in texts)
            named = {
                NOT_PYTHON: strong or built,
                "shell": strong,
                "yaml": weak,
                "json": weak,
                COMMENT: False,
                LINE_ENDS: False,
                BENCHMARK: False,
            }
            kept = [fault for fault in kept if named.get(fault.kind, True)]
        deployment.faults[:] = kept
        if deployment.nodes or kept:
            yield deployment


def none_below(folder: str, files: int) -> Fault:
    """Return the fault of a folder in which no file holds an engine; ``files`` were looked at."""
    en = f"no vLLM engine found in {counted(files, 'file')} in this folder"
    zh = f"该目录下的 {files} 个文件中没有找到 vLLM 引擎"
    return Fault(
        KIND,
        Origin(folder, 1, 1, 1, 1),
        Msg(en, zh),
        help=Msg(
            "-v lists what was skipped, and why; --allow-no-engine accepts this",
            "-v 会说明跳过了哪些文件及原因；加 --allow-no-engine 则不视为问题",
        ),
    )


_AFTER_DASHES = Msg(
    "after --, write the command that starts the engine: pd-launch check -- vllm serve …",
    "-- 之后请写启动引擎的命令：pd-launch check -- vllm serve …",
)
_BY_HAND = Msg(
    ("write the start command into a shell script or a manifest, or give it after --: pd-launch check -- vllm serve …"),
    "把启动命令写进 shell 脚本或清单，或写在 -- 之后：pd-launch check -- vllm serve …",
)


def _fault(origin: Origin, en: str, zh: str, by_hand: bool = False) -> Fault:
    return Fault(
        KIND,
        origin,
        Msg(f"no vLLM engine found: {en}", f"没有找到 vLLM 引擎：{zh}"),
        help=_BY_HAND if by_hand else NOTHING,
    )
