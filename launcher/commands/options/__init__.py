"""What each command takes: the fields of one class, which its body in the folder above is given.

These modules import nothing that does the work, so that ``--help``, completion and a wrong option are answered at once.
"""

from __future__ import annotations

import dataclasses
import inspect
import os
from importlib import import_module
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

PROFILES = Path(__file__).resolve().parents[3] / "profiles"
REPORTS = ("text", "concise", "json", "sarif", "github", "gitlab", "junit")
PLANS = ("json", "shell", "docker", "compose", "k8s", "systemd", "kserve", "llm-d", "slurm", "ssh")
SEVERITIES = ("error", "warning", "info")
SIDES = ("decode", "prefill")
HARDWARE = ("a2", "a3", "cuda", "cpu")
_KEY = "parameter"


class Option(click.Option):
    """An option whose variable is named like it: PD_LAUNCH_CHECK_FORMAT is check's --format."""

    def resolve_envvar_value(self, ctx: click.Context) -> str | None:
        """Return what the variable holds, where it is set to something."""
        prefix = ctx.auto_envvar_prefix
        if prefix and (value := os.environ.get(f"{prefix}_{variable_part(self)}")):
            return value
        return super().resolve_envvar_value(ctx)


def variable_part(option: click.Option) -> str:
    """Return the end of an option's environment variable, from its long form."""
    return max(option.opts, key=len).strip("-").replace("-", "_").upper()


def option(*words: str, **settings: Any) -> Any:
    """Return a field that is given by ``words`` such as ``--format``; ``settings`` are click's."""
    empty: Any = () if settings.get("multiple") else False if settings.get("is_flag") else None
    default = settings.get("default", empty)
    return dataclasses.field(default=default, metadata={_KEY: lambda name: Option([*words, name], **settings)})


def argument(**settings: Any) -> Any:
    """Return a field that is given by its place; ``settings`` are click's."""
    default = () if "nargs" in settings else None
    return dataclasses.field(default=default, metadata={_KEY: lambda name: click.Argument([name], **settings)})


def parameters(options: type[Any]) -> list[click.Parameter]:
    """Return what click asks for a class of options, in the order of its fields."""
    return [field.metadata[_KEY](field.name) for field in dataclasses.fields(options)]


def command(
    options: type[Any],
    body: str,
    below: dict[str, click.Command] | None = None,
    cls: type[click.Command] = click.Command,
    short_help: str | None = None,
    plugins: bool = False,
) -> click.Command:
    """Return the command that fills ``options``, whose docstring is its help, and gives them to its body.

    Args:
        options: the class of its options.
        body: ``module:function`` in the folder above, imported when it runs; the function returns the exit status.
        below: commands below it; the body runs where none of them is named.
        cls: the kind of command.
        short_help: what the list of the group above says of it.
        plugins: whether pydantic may look for plugins, which reads the metadata of everything that is installed. It is
            told by a variable, which an engine that is started would have too.
    """

    def call(**given: Any) -> None:
        context = click.get_current_context()
        if context.invoked_subcommand is None:
            if not plugins:
                os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
            module, _, function = body.partition(":")
            run = getattr(import_module(f"pd_launch.launcher.commands.{module}"), function)
            context.exit(run(options(**given)))

    more: dict[str, Any] = {} if below is None else {"commands": below, "invoke_without_command": True}
    made = click.Group if below is not None else cls
    for name, one in (below or {}).items():
        one.name = name
    text = inspect.cleandoc(options.__doc__ or "")
    return made(None, callback=call, params=parameters(options), help=text, short_help=short_help, **more)


def target_option() -> Any:
    """Return ``--target``."""
    said = "Release (vllm-ascend==0.25.1rc1, vllm==0.32.0), or path of a build: folder, wheel, sdist."
    return option("--target", metavar="RELEASE|PATH", help=said)


def color_option() -> Any:
    """Return ``--color``."""
    kinds, said = click.Choice(["auto", "always", "never"]), "Use colours; auto: on a terminal, unless NO_COLOR is set."
    return option("--color", type=kinds, default="auto", show_default=True, help=said)


def lang_option() -> Any:
    """Return ``--lang``."""
    return option("--lang", type=click.Choice(["en", "zh"]), help="Language of messages (default: the locale).")


def form_option(*forms: str, help: str = "Output format.", show_default: bool = True) -> Any:
    """Return ``--format`` with its forms, the default first; without any, text and JSON."""
    choice = click.Choice(forms or ("text", "json"))
    return option("--format", type=choice, default=choice.choices[0], show_default=show_default, help=help)


def output_option(help: str = "Write the report to this file.") -> Any:
    """Return ``--output``."""
    return option("--output", metavar="FILE", help=help)


def settings_option() -> Any:
    """Return ``--set``."""
    return option("--set", multiple=True, metavar="KEY=VALUE", help="Override a key of the profile.")


def profile_option(help: str, required: bool = False) -> Any:
    """Return ``--profile``."""
    return option("--profile", required=required, metavar="FILE|NAME", help=help, shell_complete=profile_names)


def profile_names(_context: Any, _parameter: Any, start: str) -> list[CompletionItem]:
    """Complete a profile: files, or the names of the shipped ones."""
    names = sorted(path.stem for path in PROFILES.glob("*.yaml") if path.stem.startswith(start))
    return [CompletionItem(name) for name in names] or [CompletionItem(start, type="file")]
