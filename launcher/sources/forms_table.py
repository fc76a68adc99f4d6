"""The forms of input: how each is recognised, who reads it, and what the pages and messages call it.

A new form is a module with a recogniser and a reader, and its row here. Recognisers go by structure, and are asked only
where one of the row's ``signs`` is in the file, so that most calls import none of them.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple

from pd_launch.launcher.sources.engine.found import Found
from pd_launch.launcher.sources.text.kinds import is_script
from pd_launch.launcher.sources.text.per_file import per_file
from pd_launch.schemas.core.lazy import lazy_pattern
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.values import Node, SourceFile

_OPENS = lazy_pattern(r"\ufeff?(?:[ \t\r]*(?:#(?!!)[^\n]*)?\n)*(?:[\w.-]+:(?:\s|$)|\{|- |---)")
"""How a text of YAML or JSON begins, after comments."""
_HERE = "pd_launch.launcher.sources.forms"


class FormRow(NamedTuple):
    """One form of input."""

    name: str
    """What is in ``forms`` of a deployment."""
    input: Msg
    """What the pages call it."""
    by: Msg
    """By what it is recognised, as the pages say it."""
    module: str = ""
    """Where its recogniser and its reader are; empty: the reading itself tells it apart (``read.py``)."""
    signs: tuple[str, ...] = ()
    """Words of which one is in every file of the form."""
    tree: bool = True
    """Whether a document of YAML or JSON is looked at; else the file's text."""
    whole: bool = False
    """Whether a file of it is a deployment of its own, as it holds both sides."""
    named: Msg | None = None
    """What it is called where a message lists the forms; None: its input is said in other words there."""
    alone: bool = False
    """Whether it counts only where no other file of the call names it."""

    def is_one(self, given: Any) -> bool:
        """Whether a document, or a file, is one of this form."""
        recognise: Callable[[Any], bool] = import_module(f"{_HERE}.{self.module}").recognise
        return recognise(given)

    def read(self, given: Any, source: SourceFile, found: Found) -> None:
        """Add the engines of a document, or of a file, to ``found``."""
        found.forms.add(self.name)
        read: Callable[[Any, SourceFile, Found], None] = import_module(f"{_HERE}.{self.module}").read
        read(given, source, found)


FORMS: tuple[FormRow, ...] = (
    FormRow(
        "profile",
        Msg("profiles", "配置文件"),
        Msg("`version` with `decode` or `prefill`", "`version` 加上 `decode` 或 `prefill`"),
        named=Msg("a profile", "配置文件"),
    ),
    FormRow(
        "shell",
        Msg(
            "shell scripts with `vllm serve` or `python -m vllm.entrypoints.openai.api_server`, `docker run` lines, "
            "launch_online_dp.py",
            "含 `vllm serve` 或 `python -m vllm.entrypoints.openai.api_server` 的 shell 脚本、`docker run` 命令、"
            "launch_online_dp.py",
        ),
        Msg("the commands in them", "其中的命令"),
        named=Msg("a script with vllm serve, a docker command", "含有 vllm serve 的脚本、docker 命令"),
    ),
    FormRow(
        "compose",
        Msg("compose files", "compose 文件"),
        Msg("`services`", "`services`"),
        named=Msg("a compose file", "compose 文件"),
    ),
    FormRow(
        "manifest",
        Msg(
            "Kubernetes manifests, including those of unknown controllers",
            "Kubernetes 清单，包括未知控制器的清单",
        ),
        Msg("`apiVersion`, `kind`, and lists of `containers`", "`apiVersion`、`kind` 和 `containers` 列表"),
        named=Msg("a manifest", "清单"),
    ),
    FormRow(
        "patch",
        Msg(
            "patches of kustomize: a container with only arguments, JSON patches, inline ones of a kustomization",
            "kustomize 补丁：只有参数的容器、JSON 补丁、kustomization 里内联的补丁",
        ),
        Msg(
            "`args` of a container without image and command; a list of `op`, `path` and `value`",
            "没有镜像和命令的容器的 `args`；由 `op`、`path`、`value` 组成的列表",
        ),
        module="patches",
        signs=("op:", '"op"', "Kustomization", "patches"),
    ),
    FormRow(
        "e2e",
        Msg("vllm-ascend's e2e descriptions", "vllm-ascend 的 e2e 描述"),
        Msg(
            "`deployment[].server_cmd`, `templates[].server_cmd_template`",
            "`deployment[].server_cmd`、`templates[].server_cmd_template`",
        ),
        whole=True,
        named=Msg("an e2e file", "e2e 文件"),
    ),
    FormRow(
        "srt-slurm",
        Msg("srt-slurm recipes", "srt-slurm 的 recipe"),
        Msg(
            "`backend.vllm_config` with `prefill`, `decode` or `aggregated`",
            "`backend.vllm_config`，其下有 `prefill`、`decode` 或 `aggregated`",
        ),
        module="srt_slurm",
        signs=("vllm_config",),
        whole=True,
    ),
    FormRow(
        "ray",
        Msg(
            "Ray Serve: `applications` and the models they name, RayService with `serveConfigV2`",
            "Ray Serve 的 `applications` 和其中的模型配置，以及带 `serveConfigV2` 的 RayService",
        ),
        Msg(
            "`prefill_config`, `decode_config` or `llm_configs`; `model_loading_config` with `engine_kwargs`",
            "`prefill_config`、`decode_config` 或 `llm_configs`；`model_loading_config` 和 `engine_kwargs`",
        ),
        module="ray_serve",
        signs=("engine_kwargs", "serveConfigV2", "llm_configs", "prefill_config"),
    ),
    FormRow(
        "pymotor",
        Msg("MindIE pyMotor's user_config.json", "MindIE pyMotor 的 user_config.json"),
        Msg(
            "`motor_engine_prefill_config.engine_config` and similar",
            "`motor_engine_prefill_config.engine_config` 等",
        ),
        module="pymotor",
        signs=("motor_engine_",),
        whole=True,
    ),
    FormRow(
        "production-stack",
        Msg(
            "Helm values of vllm-project/production-stack",
            "vllm-project/production-stack 的 Helm values",
        ),
        Msg("`servingEngineSpec.modelSpec` with `modelURL`", "`servingEngineSpec.modelSpec`，其中有 `modelURL`"),
        module="production_stack",
        signs=("modelSpec",),
    ),
    FormRow(
        "options",
        Msg("the file of `vllm serve --config`, on its own", "单独的 `vllm serve --config` 文件"),
        Msg(
            "`model`, and every other key an option of `vllm serve` or nearly one",
            "有 `model`，其他每个键都是或近似 `vllm serve` 的参数",
        ),
        module="options_file",
        signs=("model",),
        alone=True,
    ),
    FormRow(
        "python",
        Msg(
            "Python files with `LLM(…)` or `KVTransferConfig(…)`",
            "含 `LLM(…)` 或 `KVTransferConfig(…)` 的 Python 文件",
        ),
        Msg("the calls", "这些调用"),
    ),
    FormRow(
        "notebook",
        Msg("Jupyter notebooks", "Jupyter 笔记本"),
        Msg(
            "`nbformat` with `cells`: lines with `!`, cells with `%%bash`, Python; not what was printed",
            "`nbformat` 和 `cells`：`!` 行、`%%bash` 单元、Python；输出不算",
        ),
        module="notebook",
        signs=("nbformat",),
        tree=False,
        named=Msg("a notebook", "笔记本"),
    ),
    FormRow(
        "dockerfile",
        Msg("Dockerfiles", "Dockerfile"),
        Msg("`FROM` as the first instruction; `ENTRYPOINT` with `CMD`", "第一条指令是 `FROM`；`ENTRYPOINT` 和 `CMD`"),
        module="dockerfile",
        signs=("FROM", "from", "From"),
        tree=False,
        named=Msg("a Dockerfile", "Dockerfile"),
    ),
    FormRow(
        "makefile",
        Msg("Makefiles", "Makefile"),
        Msg("a rule with a recipe after a tab", "规则，后面跟着以制表符开头的命令"),
        module="makefile",
        signs=("\n\t",),
        tree=False,
    ),
    FormRow(
        "systemd",
        Msg("systemd units and their drop-ins", "systemd 单元及其 drop-in"),
        Msg("`[Service]` and `ExecStart`", "`[Service]` 和 `ExecStart`"),
    ),
    FormRow(
        "supervisord",
        Msg("supervisord's configurations", "supervisord 配置"),
        Msg("`[program:…]` with `command`", "`[program:…]` 和其中的 `command`"),
        module="supervisord",
        signs=("[program:", "[fcgi-program:"),
        tree=False,
    ),
    FormRow(
        "env",
        Msg("files of variables that hold an engine's arguments", "存放引擎参数的变量文件（.env）"),
        Msg(
            "nothing but `NAME=VALUE`, one of them with options of `vllm serve`",
            "只有 `NAME=VALUE`，其中有 `vllm serve` 的参数",
        ),
        module="argument_file",
        signs=("--",),
        tree=False,
    ),
    FormRow(
        "hcl",
        Msg("Terraform, and other HCL", "Terraform 等 HCL 文件"),
        Msg(
            "blocks such as `resource`: `command`, `args` and `image` in them, texts with `vllm serve`",
            "`resource` 等块：其中的 `command`、`args`、`image`，以及含有 `vllm serve` 的文本",
        ),
        module="hcl",
        signs=('resource "', 'job "', 'module "', 'variable "', 'data "', "locals {", "terraform {"),
        tree=False,
    ),
    FormRow(
        "template",
        Msg(
            "templates of YAML (Helm, Jinja), as far as they can be read before they are filled in",
            "YAML 模板（Helm、Jinja），只要渲染之前就能读懂",
        ),
        Msg("`{{ … }}`, `{% … %}`", "`{{ … }}`、`{% … %}`"),
    ),
    FormRow(
        "prose",
        Msg("Markdown and other texts, YAML of unknown form", "Markdown 等文档，以及不属于上述形式的 YAML"),
        Msg("fenced blocks, and lines that begin with a command", "代码块，以及以命令开头的行"),
    ),
    FormRow(
        "command",
        Msg("a command line", "一条命令"),
        Msg("`pd-launch check -- vllm serve …`", "`pd-launch check -- vllm serve …`"),
    ),
    FormRow("-", Msg("standard input", "标准输入"), Msg("`-`", "`-`")),
)  # fmt: skip


def text_form(source: SourceFile) -> FormRow | None:
    """Return the form that a file's text is of, where a row tells it by its text; a script is none of them."""
    if is_script(source):
        return None
    return next((row for row in _candidates(source) if not row.tree and row.is_one(source)), None)


def tree_form(tree: Node, source: SourceFile) -> FormRow | None:
    """Return the form that a document of YAML or JSON is of, where a row tells it by its tree."""
    return next((row for row in _candidates(source) if row.tree and row.is_one(tree)), None)


def may_hold_tree(source: SourceFile) -> bool:
    """Whether a file without a telling name may be YAML or JSON of one of the forms."""
    if _OPENS.match(source.text) is None:
        return False
    return any(row.tree and not row.alone for row in _candidates(source))


@per_file
def _candidates(source: SourceFile) -> list[FormRow]:
    return [row for row in FORMS if row.module and any(sign in source.text for sign in row.signs)]


def listed() -> Msg:
    """Return the most common forms, as a message lists them, and where the others are."""
    named = [row.named for row in FORMS if row.named is not None]
    head, head_zh = ", ".join(name.en for name in named), "、".join(name.zh for name in named)
    return Msg(
        f"give {head}, or another of the forms that the guide lists (docs/guide/checking.md)",
        f"请给出{head_zh}，或指南里列出的其他形式（docs/zh/guide/checking.md）",
    )


def table(chinese: bool) -> str:
    """Return the table of forms of the page about checking."""
    head = ("| 输入 | 怎样识别 |", "|---|---|") if chinese else ("| input | recognised by |", "|---|---|")
    rows = [(row.input.zh, row.by.zh) if chinese else (row.input.en, row.by.en) for row in FORMS]
    return "\n".join([*head, *(f"| {what} | {by} |" for what, by in rows)])
