"""The command line. Commands import their work when they run, so that ``--help`` and ``--version`` stay instant."""

from __future__ import annotations

import atexit
import contextlib
import gc
import os
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, TextIO

import click

from pd_launch import __version__
from pd_launch.launcher import early, internal

USAGE = 2
FORMATS = ("text", "concise", "json", "sarif", "github", "gitlab", "junit")
PLANS = ("json", "shell", "docker", "compose", "k8s", "systemd", "kserve", "llm-d", "slurm", "ssh")
SEVERITIES = ("error", "warning", "info")
_SETTINGS: dict[str, Any] = {"help_option_names": ["-h", "--help"], "max_content_width": 80}


class _Option(click.Option):
    """An option whose variable is named like it: PD_LAUNCH_CHECK_FORMAT is check's --format."""

    def resolve_envvar_value(self, ctx: click.Context) -> str | None:
        prefix = ctx.auto_envvar_prefix
        if prefix and (value := os.environ.get(f"{prefix}_{variable_part(self)}")):
            return value
        return super().resolve_envvar_value(ctx)


def variable_part(option: click.Option) -> str:
    """Return the end of an option's environment variable, from its long form."""
    return max(option.opts, key=len).strip("-").replace("-", "_").upper()


_option = partial(click.option, cls=_Option)


@contextlib.contextmanager
def _said_without_secrets(words: Sequence[str]) -> Iterator[None]:
    try:
        yield
    except click.ClickException as error:
        from pd_launch.launcher.commands.common import without_secrets

        without_secrets(error, words)
        raise


class _Commands(click.Group):
    """Lists commands in the order in which they are defined here: what is used most comes first.

    What any of them says of a wrong command line is said without the secrets in it.
    """

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        self._given = tuple(args)
        with _said_without_secrets(self._given):
            return super().make_context(info_name, args, parent, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        with _said_without_secrets(self._given):
            return super().invoke(ctx)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)


def _version(context: click.Context, _parameter: click.Parameter, wanted: bool) -> None:
    if not wanted or context.resilient_parsing:
        return
    from pd_launch.schemas.core.pairing import ASCEND_PAIRS, VLLM_RELEASES

    click.echo(f"pd-launch, version {__version__}")
    click.echo(f"newest releases known: vllm-ascend {list(ASCEND_PAIRS)[-1]}, vLLM {VLLM_RELEASES[-1]}")
    context.exit()


def _debug(context: click.Context, _parameter: click.Parameter, wanted: bool) -> None:
    if wanted and isinstance(context.obj, internal.Guard):
        context.obj.debug = True


@click.group(cls=_Commands, context_settings=_SETTINGS)
@_option(
    "-V",
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_version,
    help="Show the version and the newest releases known, and exit.",
)
@_option(
    "--debug",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_debug,
    help="Show the traceback of an internal fault (status 70).",
)
def cli() -> None:
    """Check, render and launch the vLLM engines of a prefill/decode deployment.

    \b
    Examples:
      pd-launch check decode.sh
      pd-launch decode --profile a3-dp2tp8 --dry-run

    "pd-launch COMMAND --help" says more. Every option has a variable: PD_LAUNCH_CHECK_TARGET is check's --target.
    """


def _profile_names(_context: Any, _parameter: Any, start: str) -> list[Any]:
    """Complete a profile: files, or the names of the shipped ones."""
    from pathlib import Path

    from click.shell_completion import CompletionItem

    folder = Path(__file__).resolve().parent.parent / "profiles"
    names = sorted(path.stem for path in folder.glob("*.yaml") if path.stem.startswith(start))
    return [CompletionItem(name) for name in names] or [CompletionItem(start, type="file")]


def _rule_codes(_context: Any, _parameter: Any, start: str) -> list[str]:
    """Complete a rule's code."""
    from pd_launch.launcher.rules.registry import all_rules

    return [code for code in all_rules() if code.startswith(start.upper())]


def _target_option(function: Any) -> Any:
    said = "Release (vllm-ascend==0.25.1rc1, vllm==0.32.0), or path of a build: folder, wheel, sdist."
    return _option("--target", metavar="RELEASE|PATH", help=said)(function)


def _color_option(function: Any) -> Any:
    return _option(
        "--color",
        type=click.Choice(["auto", "always", "never"]),
        default="auto",
        show_default=True,
        help="Colours; auto is on a terminal, without NO_COLOR.",
    )(function)


_text_or_json = _option(
    "--format",
    "form",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="Form of the output.",
)


def _lang_option(function: Any) -> Any:
    return _option("--lang", type=click.Choice(["en", "zh"]), help="Language of messages (default: the locale).")(
        function
    )


@cli.command(short_help="Find mistakes before an engine starts.")
@click.argument("files", nargs=-1, metavar="[FILE|FOLDER]... [-- COMMAND]", type=click.UNPROCESSED)
@_target_option
@_option("--format", "form", type=click.Choice(FORMATS), default="text", show_default=True, help="Form of the output.")
@_option("--output", metavar="FILE", help="Write the report there.")
@_option("--select", metavar="CODES", help="Only these rules or families, such as PD1,PD301.")
@_option("--ignore", metavar="CODES", help="All rules but these.")
@_option("--fail-on", type=click.Choice(SEVERITIES), help="Exit 1 from this severity on (default: error).")
@_option("--fix", is_flag=True, help="Write the fixes that are certain into the files.")
@_option("--unsafe-fixes", is_flag=True, help="Also the fixes that are only plausible.")
@_option("--diff", is_flag=True, help="Show what fixing would change, and change nothing.")
@_option("--host", is_flag=True, help="Also check against this machine.")
@_option("--host-facts", metavar="FILE", help="Also check against the machine that this file describes.")
@_option("--separate", is_flag=True, help="Each file is a deployment of its own.")
@_option("--require-target", is_flag=True, help="An engine whose release nothing decides is an error.")
@_option("--allow-no-engine", is_flag=True, help="Files without an engine are no mistake.")
@_option("--force-exclude", is_flag=True, help="Named files obey exclude of pd-launch.toml too.")
@_option("--baseline", metavar="FILE", help="Leave out the known findings that this file lists.")
@_option("--write-baseline", is_flag=True, help="Write what is found now into --baseline; it is known then.")
@_option("--exit-zero", is_flag=True, help="Exit 0 where findings would give 1; other statuses stay.")
@_option("--jobs", metavar="N", type=click.IntRange(1, 256), help="Processes for --separate (default: for many files).")
@_option("--max-size", metavar="SIZE", help="Check files up to this size, such as 8MiB (default: 2MiB).")
@_option("--show-config", is_flag=True, help="Print the configuration that counts here.")
@_option("-v", "--verbose", is_flag=True, help="Say what was passed over and what was unknown.")
@_color_option
@_lang_option
@click.pass_context
def check(context: click.Context, /, **options: Any) -> None:
    """Find mistakes in profiles, scripts and manifests before an engine starts.

    Several files are checked together as one deployment, those of a folder each by itself; - reads standard input;
    behind -- stands a command line.

    \b
    Examples:
      pd-launch check prefill.sh decode.sh
      pd-launch check .
      pd-launch check -- vllm serve /models/m --max-num-seqs 8
    """
    # Looking for plugins of pydantic reads the metadata of everything that is installed; none could matter here.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    from pd_launch.launcher.commands.check import CheckOptions, check_command

    context.exit(check_command(CheckOptions(**options)))


def _launch_options(function: Any) -> Any:
    options: list[Any] = []
    for option in (
        _option(
            "--profile",
            required=True,
            metavar="FILE|NAME",
            help="Profile file, or the name of a shipped one.",
            shell_complete=_profile_names,
        ),
        _option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="Override a key of the profile."),
        _option("--dry-run", is_flag=True, help="Print the plan and start nothing."),
        _option(
            "--format",
            "form",
            type=click.Choice(PLANS),
            default="json",
            show_default=True,
            help="Form of the plan. compose, k8s, kserve, llm-d and ssh hold all nodes of both sides,"
            " slurm those of one.",
        ),
        _option("--node-rank", type=int, metavar="N", help="Which of the side's nodes this is, from 0."),
        _option("--dp-rank", type=int, metavar="N", help="Start only this rank of an external-DP side."),
        _option(
            "--grace", type=click.FloatRange(0), metavar="SECONDS", help="Between TERM and KILL of several engines."
        ),
        _option(
            "--ready-timeout",
            type=click.FloatRange(0, min_open=True),
            metavar="SECONDS",
            help="Stop everything where not all engines are ready by then.",
        ),
        _option(
            "--health",
            type=click.FloatRange(0),
            metavar="SECONDS",
            help="How often engines that were ready are asked again; 0: never.  [default: 10, in a pod 0]",
        ),
        _option("--restart", type=click.IntRange(0), metavar="N", help="Start all anew after a failure, N times."),
        _option("--log-dir", metavar="FOLDER", help="Write a log file for each rank as well."),
        _option("--log-size", metavar="SIZE", help="Begin the next log file there.  [default: 64MiB]"),
        _option("--log-files", type=click.IntRange(1), metavar="N", help="Log files of a rank.  [default: 5]"),
        _option("--notify", is_flag=True, help="Tell systemd when all are ready, and that they are well."),
        _option("--show-origin", is_flag=True, help="Say where each argument and variable came from."),
        _option("--host/--no-host", default=None, help="Whether to check against this machine."),
        _option(
            "--host-facts", metavar="FILE", help="With --dry-run: check against the machine that this file describes."
        ),
        _option("--force", multiple=True, metavar="CODE", help="Launch in spite of errors of this code."),
        _target_option,
        _lang_option,
        click.argument("extra", nargs=-1, metavar="[-- EXTRA VLLM ARGS]", type=click.UNPROCESSED),
    ):
        options.append(option)
    for option in reversed(options):  # click shows them from the last applied on
        function = option(function)
    return function


@cli.command(short_help="Check, render and start this node's decode engine.")
@_launch_options
@click.pass_context
def decode(context: click.Context, /, **options: Any) -> None:
    """Check, render and start this node's decode engine.

    \b
    Examples:
      pd-launch decode --profile a3-dp2tp8 --dry-run
      pd-launch decode --profile my.yaml --set decode.port=8300 -- --seed 1
    """
    from pd_launch.launcher.commands.launch import launch_command

    context.exit(launch_command("decode", **options))


@cli.command(short_help="Check, render and start this node's prefill engine.")
@_launch_options
@click.pass_context
def prefill(context: click.Context, /, **options: Any) -> None:
    """Check, render and start this node's prefill engine.

    \b
    Example:
      pd-launch prefill --profile a3-dp2tp8 --dry-run
    """
    from pd_launch.launcher.commands.launch import launch_command

    context.exit(launch_command("prefill", **options))


@cli.command(short_help="Say whether this host fits.")
@_option("--profile", metavar="FILE|NAME", help="Compare this host with a profile.", shell_complete=_profile_names)
@_option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="Override a key of the profile.")
@_option("--side", type=click.Choice(["decode", "prefill"]), help="Only this side of the profile.")
@_option("--node-rank", type=int, metavar="N", help="Only this node of each side, from 0.")
@_option("--host-facts", metavar="FILE", help="Look at the machine that this file describes instead.")
@_target_option
@_text_or_json
@_color_option
@_lang_option
@click.pass_context
def doctor(context: click.Context, /, **options: Any) -> None:
    """Say whether this host fits: memory, /dev/shm, limits, ports, devices, versions, leftovers.

    \b
    Examples:
      pd-launch doctor
      pd-launch doctor --profile a3-dp2tp8 --side decode
    """
    from pd_launch.launcher.commands.doctor import DoctorOptions, doctor_command

    context.exit(doctor_command(DoctorOptions(**options)))


@cli.group(invoke_without_command=True, short_help="Dump what is known of this host; compare nodes.")
@_text_or_json
@click.pass_context
def facts(context: click.Context, form: str) -> None:
    """Dump what is known of this host, for an issue or for --host-facts; secrets are masked.

    \b
    Examples:
      pd-launch facts --format json > node0.json
      pd-launch facts diff node0.json node1.json
      pd-launch facts check node0.json node1.json node2.json
    """
    if context.invoked_subcommand is None:
        from pd_launch.launcher.commands.facts import facts_command

        context.exit(facts_command(form))


def _compare_options(function: Any) -> Any:
    for option in (
        _option("--format", "form", type=click.Choice(["text", "json"]), default="text", help="Form of the output."),
        _lang_option,
    ):
        function = option(function)
    return function


@facts.command("diff")
@click.argument("first", metavar="A")
@click.argument("second", metavar="B")
@_compare_options
@click.pass_context
def facts_diff(context: click.Context, /, first: str, second: str, form: str, lang: str | None) -> None:
    """Show in what two nodes differ.

    \b
    Example:
      pd-launch facts diff node0.json node1.json
    """
    from pd_launch.launcher.commands.facts import diff_command

    context.exit(diff_command(first, second, form, lang))


@facts.command("check", short_help="Say what nodes must have alike, and do not.")
@click.argument("files", nargs=-1, required=True, metavar="A B...")
@_compare_options
@click.pass_context
def facts_check(context: click.Context, /, files: tuple[str, ...], form: str, lang: str | None) -> None:
    """Say what the nodes of one deployment must have alike, and do not.

    \b
    Example:
      pd-launch facts check node0.json node1.json node2.json
    """
    from pd_launch.launcher.commands.facts import check_command

    context.exit(check_command(files, form, lang))


@cli.command(short_help="Explain a rule, and what to write instead.")
@click.argument("code", shell_complete=_rule_codes)
@_text_or_json
@_lang_option
@click.pass_context
def explain(context: click.Context, /, code: str, form: str, lang: str | None) -> None:
    """Explain a rule: what it does, why it matters, and what to write instead.

    \b
    Example:
      pd-launch explain PD301
    """
    from pd_launch.launcher.commands.rules import explain_command

    context.exit(explain_command(code, form, lang))


@cli.command(short_help="List all rules.")
@_text_or_json
@_lang_option
@click.pass_context
def rules(context: click.Context, /, form: str, lang: str | None) -> None:
    """List all rules.

    \b
    Example:
      pd-launch rules --format json
    """
    from pd_launch.launcher.commands.rules import rules_command

    context.exit(rules_command(form, lang))


@cli.command(short_help="Print a JSON Schema.")
@click.argument("name", type=click.Choice(["profile", "report", "plan", "logs", "simulate", "status", "upgrade"]))
@click.pass_context
def schema(context: click.Context, /, name: str) -> None:
    """Print the JSON Schema of a profile, or of what a command prints as JSON.

    \b
    Example:
      pd-launch schema profile > profile.schema.json
    """
    from pd_launch.launcher.commands.rules import schema_command

    context.exit(schema_command(name))


@cli.command(short_help="Say what changes for files between two releases.")
@click.argument("files", nargs=-1, metavar="FILE|FOLDER...", type=click.UNPROCESSED)
@_option("--from", "a", metavar="RELEASE", help="Release that the files are for (default: the one that they name).")
@_option("--to", "b", metavar="RELEASE|PATH", required=True, help="Release, or build, that they are to be for.")
@_option("--diff", is_flag=True, help="Show what writing would change, and change nothing.")
@_option("--write", is_flag=True, help="Write the changes that are certain into the files.")
@_option("--unsafe", is_flag=True, help="Also the changes that are only plausible.")
@_option("--only", type=click.Choice(["decode", "prefill"]), help="Upgrade this side; the other stays as it is.")
@_option("--separate", is_flag=True, help="Each file is a deployment of its own.")
@_text_or_json
@_option("--output", metavar="FILE", help="Write the report there.")
@_color_option
@_lang_option
@click.pass_context
def upgrade(context: click.Context, /, **options: Any) -> None:
    """Say what changes for files between two releases, in either direction, and write it.

    Exits 1 while something is left to change.

    \b
    Examples:
      pd-launch upgrade decode.sh --from 0.23.0 --to 0.30.0rc2
      pd-launch upgrade *.sh --to vllm==0.33.0 --write
    """
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    from pd_launch.launcher.commands.upgrade import UpgradeOptions, upgrade_command

    context.exit(upgrade_command(UpgradeOptions(**options)))


@cli.group(invoke_without_command=True, short_help="List the releases known; say what changed.")
@_text_or_json
@_lang_option
@click.pass_context
def releases(context: click.Context, form: str, lang: str | None) -> None:
    """List the releases that the tables know, oldest first.

    \b
    Examples:
      pd-launch releases
      pd-launch releases diff vllm==0.23.0 vllm==0.33.0
    """
    if context.invoked_subcommand is None:
        from pd_launch.launcher.commands.releases import releases_command

        context.exit(releases_command(form, lang))


@releases.command("diff", short_help="Say what changed between two releases.")
@click.argument("first", metavar="A")
@click.argument("second", metavar="B")
@_compare_options
@click.pass_context
def releases_diff(context: click.Context, /, first: str, second: str, form: str, lang: str | None) -> None:
    """Say what changed between two releases of one family; each may also be the path of a build.

    \b
    Example:
      pd-launch releases diff vllm-ascend==0.23.0 vllm-ascend==0.30.0rc2
    """
    from pd_launch.launcher.commands.releases import diff_command

    context.exit(diff_command(first, second, form, lang))


@cli.command(short_help="Say from engines' logs whether the offload works.")
@click.argument("files", nargs=-1, metavar="FILE|-...", type=click.UNPROCESSED)
@_option("--follow", "-f", is_flag=True, help="Go on reading what is added, until interrupted.")
@_option("--timeline", is_flag=True, help="Also show what happened to each preempted request, line by line.")
@_option("--request", metavar="ID", help="Show the timeline of requests with this in their id.")
@_text_or_json
@_option("--output", metavar="FILE", help="Write the report there.")
@_option("--progress/--no-progress", default=None, help="Show how far a large file is read.")
@_color_option
@_lang_option
@click.pass_context
def logs(context: click.Context, /, **options: Any) -> None:
    """Say from engines' logs whether preemption offload is active and what became of preempted requests.

    Exits 0 where it is active and healthy or idle, 1 where it is inactive, fell back or failed, 2 for another log.

    \b
    Examples:
      pd-launch logs decode.log
      kubectl logs decode-0 | pd-launch logs -
    """
    from pd_launch.launcher.commands.logs import LogsOptions, logs_command

    context.exit(logs_command(LogsOptions(**options)))


class _Watching(click.Command):
    """A command whose --watch takes the next word for its seconds only where that is a number."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        words = list(args)
        for place, word in enumerate(words):
            if word == "--":
                break
            if word == "--watch" and not _is_number("".join(words[place + 1 : place + 2])):
                words[place] = "--watch=5"
        return super().parse_args(ctx, words)


def _is_number(word: str) -> bool:
    return word.replace(".", "", 1).isdecimal()


@cli.command(cls=_Watching, short_help="Say what running engines do with preempted requests.")
@click.argument("urls", nargs=-1, metavar="[URL]...", type=click.UNPROCESSED)
@_option("--profile", metavar="FILE|NAME", help="Name and compare the engines by this.", shell_complete=_profile_names)
@_option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="Override a key of the profile.")
@_option(
    "--watch",
    metavar="[SECONDS]",
    is_flag=False,
    flag_value=5.0,
    type=click.FloatRange(0.2, 86400),
    help="Look again and again: in place on a terminal, else a JSON line each (default: every 5 s).",
)
@_option("--count", metavar="N", type=click.IntRange(1), help="End --watch after so many looks.")
@_option("--record", metavar="FILE", help="Write every look there, for --replay and for simulate.")
@_option("--replay", metavar="FILE", help="Show the looks that --record wrote.")
@_option(
    "--timeout",
    metavar="SECONDS",
    type=click.FloatRange(0.1, 300),
    default=5.0,
    show_default=True,
    help="How long an engine may take to answer.",
)
@_text_or_json
@_option("--output", metavar="FILE", help="Write the last look there.")
@_color_option
@_lang_option
@click.pass_context
def status(context: click.Context, /, **options: Any) -> None:
    """Say what running engines do: is the offload active, what was preempted, parked, restored, and what fell back.

    Reads /metrics, /version and /health of every URL at once. The verdict and the exit status are those of logs, and 1
    where an engine does not answer.

    \b
    Examples:
      pd-launch status http://127.0.0.1:8100 http://127.0.0.1:8200
      pd-launch status --profile cpu-tiny --watch
    """
    from pd_launch.launcher.commands.status import StatusOptions, status_command

    context.exit(status_command(StatusOptions(**options)))


@cli.command(short_help="Make a profile from existing launches.")
@_option(
    "--from", "sources", multiple=True, metavar="FILE", help="Make it from this script, manifest or test description."
)
@click.argument("more", nargs=-1, metavar="[FILE]...", type=click.UNPROCESSED)
@_option("--output", "-o", metavar="FILE", help="Write the profile there, never over a file; - is standard output.")
@_option("--name", metavar="NAME", help="Name of the deployment.")
@_target_option
@_lang_option
@click.pass_context
def init(context: click.Context, /, more: tuple[str, ...], **options: Any) -> None:
    """Make a profile: from existing launches with --from, else from a few questions.

    What could not be carried over is listed, and the status is then 1.

    \b
    Examples:
      pd-launch init --from decode.sh prefill.sh -o my.yaml
      pd-launch init
    """
    from pd_launch.launcher.commands.init import InitOptions, init_command

    if more and not options["sources"]:
        raise click.UsageError("files stand behind --from")
    context.exit(init_command(InitOptions(**{**options, "sources": (*options["sources"], *more)})))


@cli.group(short_help="Look at the profiles that come with pd-launch.")
def profiles() -> None:
    """Look at the profiles that come with pd-launch, or start from one.

    \b
    Examples:
      pd-launch profiles list
      pd-launch profiles copy a3-dp2tp8 my.yaml
    """


@profiles.command("list")
@click.pass_context
def profiles_list(context: click.Context, /) -> None:
    """List the shipped profiles.

    \b
    Example:
      pd-launch profiles list
    """
    from pd_launch.launcher.commands.profiles import list_command

    context.exit(list_command())


@profiles.command("show")
@click.argument("name", shell_complete=_profile_names)
@click.pass_context
def profiles_show(context: click.Context, /, name: str) -> None:
    """Print a shipped profile.

    \b
    Example:
      pd-launch profiles show cpu-tiny
    """
    from pd_launch.launcher.commands.profiles import show_command

    context.exit(show_command(name))


@profiles.command("copy")
@click.argument("name", shell_complete=_profile_names)
@click.argument("target", required=False)
@click.pass_context
def profiles_copy(context: click.Context, /, name: str, target: str | None) -> None:
    """Copy a shipped profile to a file of yours.

    \b
    Example:
      pd-launch profiles copy a3-dp2tp8 my.yaml
    """
    from pd_launch.launcher.commands.profiles import copy_command

    context.exit(copy_command(name, target))


@cli.command(short_help="Say how much host memory the offload needs.")
@_option("--profile", metavar="FILE|NAME", help="Profile whose decode side is sized.", shell_complete=_profile_names)
@_option("--model", metavar="NAME|FOLDER", help="Known name of a model, or the folder of its config.json.")
@_option("--config", metavar="FILE", help="The model's config.json, where it lies elsewhere.")
@_option(
    "--hardware",
    type=click.Choice(["a2", "a3", "cuda", "cpu"]),
    default="a3",
    show_default=True,
    help="Kind of the nodes, without a profile.",
)
@_option("--tp", type=click.IntRange(1), metavar="N", help="Tensor-parallel size.")
@_option("--pp", type=click.IntRange(1), metavar="N", help="Pipeline-parallel size.")
@_option("--dp", type=click.IntRange(1), metavar="N", help="Data-parallel ranks of the whole side.")
@_option("--nodes", type=click.IntRange(1, 250), metavar="N", help="Nodes of the side.")
@_option("--block-size", type=click.IntRange(1), metavar="N", help="Tokens of a block.")
@_option("--kv-cache-dtype", metavar="DTYPE", help="Such as fp8; default: the model's own.")
@_option("--mtp", type=click.IntRange(1), metavar="N", help="Draft tokens of multi-token prediction.")
@_option("--max-model-len", type=click.IntRange(1), metavar="N", help="Longest request; default: the model's own.")
@_option("--tokens", type=click.IntRange(1), metavar="N", help="Tokens of a parked request; default: the longest.")
@_option("--requests", type=click.IntRange(1), metavar="N", help="Requests that each engine parks at once.")
@_option("--workload", metavar="FILE|KEY=VALUE,…", help="Not here: pd-launch simulate takes a workload.")
@_option("--memory", metavar="SIZE", help="Memory of the node or container, such as 512GiB.")
@_option("--per-rank", metavar="SIZE", help="Budget of a card: say what it holds.")
@_option("--bytes-per-block", metavar="SIZE", help="For a model that is not known here: from the engine's log.")
@_option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="Override a key of the profile.")
@_option("--over", metavar="NAME=V,V,…", help="Table over these choices, such as tp=2,4,8 or requests=1,4,16.")
@_option("--plot", is_flag=True, help="Show the table as bars.")
@_option("--png", metavar="FILE", help="Draw it (needs matplotlib).")
@_option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "profile"]),
    default="text",
    show_default=True,
    help="Form of the output.",
)
@_target_option
@click.pass_context
def size(context: click.Context, /, **options: Any) -> None:
    """Say how much host memory the offload needs, or how much fits.

    \b
    Examples:
      pd-launch size --profile a3-dp2tp8 --requests 8
      pd-launch size --model Qwen/Qwen3-32B --tp 4 --memory 512GiB
    """
    from pd_launch.launcher.commands.size import size_command

    context.exit(size_command(options))


@cli.command(short_help="Say how often a workload preempts, and what ends it.")
@click.argument("files", nargs=-1, metavar="[FILE]...")
@_option(
    "--workload",
    required=True,
    metavar="FILE|KEY=VALUE,…",
    help="Trace, benchmark result, /metrics page, record of status, or text.",
)
@_option("--profile", metavar="FILE|NAME", help="Profile whose decode side is played.", shell_complete=_profile_names)
@_option("--log", metavar="FILE", help="The engine's log: its size, its options, the time of its steps.")
@_option("--blocks", type=click.IntRange(2), metavar="N", help="The engine's num_gpu_blocks.")
@_option("--memory", metavar="SIZE", help="KV cache of one rank, in place of --blocks, such as 20GiB.")
@_option("--block-size", type=click.IntRange(1), metavar="N", help="Tokens of a block.")
@_option("--bytes-per-block", metavar="SIZE", help="Of one rank, for a model that is not known here.")
@_option("--max-num-seqs", type=click.IntRange(1), metavar="N", help="Requests that run at once.")
@_option("--max-num-batched-tokens", type=click.IntRange(1), metavar="N", help="Tokens of a step.")
@_option("--max-model-len", type=click.IntRange(2), metavar="N", help="Longest request.")
@_option("--watermark", type=click.FloatRange(0, 1, max_open=True), metavar="X", help="Share kept free at admissions.")
@_option("--scheduling-policy", type=click.Choice(["fcfs", "priority"]), help="Who is admitted, and who is preempted.")
@_option("--prefix-caching/--no-prefix-caching", default=None, help="Whether blocks are found again by content.")
@_option("--async-scheduling/--no-async-scheduling", default=None, help="Whether steps are scheduled ahead.")
@_option("--draft-tokens", type=click.IntRange(0), metavar="N", help="Speculative tokens of a request and step.")
@_option("--acceptance", type=click.FloatRange(0, 1), metavar="X", help="Share of draft tokens accepted, such as 0.6.")
@_option("--arrival-steps", type=click.IntRange(0), metavar="N", help="Steps until a decode node has a prompt's KV.")
@_option("--budget", metavar="SIZE,…", help="Host memory per rank to try, such as 8GiB,16GiB or 3000blocks.")
@_option("--concurrency", type=click.IntRange(1), metavar="N", help="Clients that each wait for their answer.")
@_option("--rate", type=click.FloatRange(0, min_open=True), metavar="X", help="Requests per second, at random times.")
@_option("--requests", type=click.IntRange(1), metavar="N", help="Play the first N, or draw N from a /metrics page.")
@_option("--step-time", metavar="BASE[,PER_TOKEN]", help="Seconds of a step, and of each token in it.")
@_option("--dp", type=click.IntRange(1, 1024), metavar="N", help="Engines that share the requests.")
@_option(
    "--router",
    type=click.Choice(["vllm", "round-robin", "least-requests"]),
    default="vllm",
    show_default=True,
    help="Whom a request goes to, with --dp.",
)
@_option("--over", metavar="NAME=V,V,…", help="Table over choices, such as max-num-seqs=64,128,256.")
@_option("--plot", is_flag=True, help="Show that table as bars.")
@_option("--png", metavar="FILE", help="Draw it (needs matplotlib).")
@_option("--seed", type=int, default=1, show_default=True, metavar="N", help="What is drawn; the same gives the same.")
@_option("--progress/--no-progress", default=None, help="Say how far it is (default: on a terminal).")
@_text_or_json
@_lang_option
@_target_option
@click.pass_context
def simulate(context: click.Context, /, **options: Any) -> None:
    """Play vLLM's scheduler for a workload: will it preempt, what does that cost, which budget ends it.

    \b
    Examples:
      pd-launch simulate --log decode.log --workload result.json --budget 8GiB
      pd-launch simulate --blocks 999 --workload requests=99,prompt=900,output=99
    """
    from pd_launch.launcher.commands.simulate import simulate_command

    context.exit(simulate_command(options))


@cli.command(short_help="Print a shell's completion script.")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the completion script of a shell.

    \b
    Example:
      source <(pd-launch completion bash)
    """
    from click.shell_completion import get_completion_class

    made = get_completion_class(shell)
    if made is not None:
        click.echo(made(cli, {}, "pd-launch", "_PD_LAUNCH_COMPLETE").source())


def main() -> None:
    """Run the command line; an interrupted command exits with 130 and says nothing more, lost output with 2.

    A fault of pd-launch itself is 70, which nothing else is.
    """
    # A short run with many objects that stay: collecting them again and again, and once more at exit, costs 15 %.
    gc.set_threshold(100_000)
    atexit.register(gc.freeze)
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by who called: there is nobody to write to
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8"))
    early.interrupts_are_exceptions()
    try:
        sys.exit(_run())
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(0)
    except OSError as error:
        _drop(sys.stdout)
        unnamed = "the working folder" if isinstance(error, FileNotFoundError) else "the output could not be written"
        what = unnamed if error.filename is None else ascii(error.filename)
        with contextlib.suppress(OSError):
            click.echo(f"Error: {what}: {error.strerror}", err=True)
        _drop(sys.stderr)
        sys.exit(USAGE)


def _run() -> int:
    """Run the command of this process; return its exit status."""
    guard = internal.Guard(_language)
    status: object = None
    try:
        with guard:
            status = cli.main(prog_name="pd-launch", standalone_mode=False, auto_envvar_prefix="PD_LAUNCH", obj=guard)
        sys.stdout.flush()  # what cannot be written must not be found out after the status was given
    except click.exceptions.Exit as done:
        return done.exit_code
    except click.ClickException as error:
        error.show()
        return USAGE
    except (click.Abort, KeyboardInterrupt):
        return 130
    if guard.failed:
        return internal.STATUS
    return status if isinstance(status, int) else 0


def _language() -> str:
    from pd_launch.launcher.commands.common import locale_language

    return locale_language()


def _drop(stream: TextIO) -> None:
    """Let go of what a stream still holds: writing it at exit would fail again, and change the status."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
