"""Commands become engines: which words start vLLM, under which wrappers, and with which environment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Literal

from pd_launch.launcher.sources.engine.around import Around, Run, place_of
from pd_launch.launcher.sources.engine.command_line import read_arguments
from pd_launch.launcher.sources.engine.docker import DockerCommand, read_docker
from pd_launch.launcher.sources.engine.fillers import with_input
from pd_launch.launcher.sources.engine.found import Finish, Followed, Found, Nested, Started, keep, texts_of
from pd_launch.launcher.sources.engine.scripts_given import is_remote, parameters_of, scripts_inside
from pd_launch.launcher.sources.engine.unfollowed import started_otherwise
from pd_launch.launcher.sources.engine.wrapped import DYNAMO, SHELLS, carried, engine_words, unwrap
from pd_launch.launcher.sources.shell.model import Command
from pd_launch.launcher.sources.shell.scope import Environment, Journal
from pd_launch.launcher.sources.shell.state import Scope
from pd_launch.launcher.sources.text.interpolate import Words, filled_before
from pd_launch.launcher.sources.text.templates import BRANCH, FilledFile
from pd_launch.schemas.core.launch import Container, EnvVar, Form, NodeLaunch, Proxy
from pd_launch.schemas.core.lazy import lazy_pattern
from pd_launch.schemas.core.values import HOLE, Node, Origin, Text
from pd_launch.schemas.engine.sides import spoken_side

ONLINE_DP = "launch_online_dp.py"
ROUTER = "vllm-router"
_SCRIPT = lazy_pattern(r"\w+\.py")
_ENGINE_FLAGS = ("--kv-transfer-config", "--tensor-parallel-size", "--max-model-len", "--max-num-seqs")
"""Flags by which arguments alone are known as those of an engine."""
_FROM_FILES = frozenset({"dotenv", "direnv", "envdir", "with-contenv", "doppler", "--env-file"})
"""What gives the command after it variables of a file."""
_HELP = lazy_pattern(r"-h|--help(=.*)?|--version|-v")


def with_variables(env: Mapping[str, EnvVar], env_open: Origin | None = None) -> Finish:
    """Return what gives an engine variables that are around it; what it sets itself goes first.

    ``env_open`` is where it may get further ones that are not known.
    """

    def finish(node: NodeLaunch) -> None:
        node.env = {**env, **node.env}
        node.env_open = node.env_open or env_open

    return finish


def read_command(command: Command, form: Form, label: str, found: Found, finish: Finish = keep) -> bool:
    """Add what ``command`` starts to ``found``; return whether it was recognised."""
    rest, inline = unwrap(command.words)
    words = _of_pod(command.words.having(with_input(rest, command.body) or rest))
    env = {**_given(command), **_inline(inline)}
    env_open = command.origin if _given_more(command.words, rest) else command.env_open

    there = elsewhere(command, finish)

    def complete(node: NodeLaunch) -> None:
        node.env = {**env, **node.env}
        node.branches = command.branches
        node.foreground = command.foreground
        node.env_open = node.env_open or env_open
        node.kept = {name: written.origin() for name, written in command.kept.items() if name not in node.env}
        there(node)

    docker = read_docker(words, command.origin, partial(_starts, command))
    if docker is not None:
        found.forms.add("docker")
        _in_container(docker, command, label, found)
        return True
    if add_engine(words, form, label, command.origin, found, complete):
        return True
    return _other(words, found)


def _of_pod(words: Words) -> Words:
    """Return the command of the container that ``kubectl run --image=X -- ARGUMENTS`` starts; others as they are."""
    values = [word.value for word in words]
    if values[:2] not in (["kubectl", "run"], ["oc", "run"]) or "--" not in values or "--command" in values:
        return words
    end = values.index("--")
    images = _given_as("--image", words[:end])
    given = image_engine(words.having(words[end + 1 :]), images[-1].node(), False) if images else words
    return given if engine_words(given) is not None else words


def _inline(given: Mapping[str, tuple[Text, Text]]) -> dict[str, EnvVar]:
    return {name: EnvVar.of(name, value, "inline", written) for name, (value, written) in given.items()}


def add_proxy(words: Sequence[Text], container: Container, found: Found) -> None:
    """Add the proxy that a container with a network of its own starts by ``words``, if they start one."""
    before = len(found.proxies)
    if container.host_network is False and not container.partial and _other(unwrap(words)[0], found):
        for proxy in found.proxies[before:]:
            proxy.container = container


def _other(words: list[Text], found: Found) -> bool:
    values = [word.value for word in words]
    for index, value in enumerate(values[:4]):
        name = value.rpartition("/")[2]
        if (_SCRIPT.fullmatch(name) and "proxy" in name) or name == ROUTER:
            found.proxies.append(Proxy(words[index].origin(), name, [w.node() for w in words[index + 1 :]]))
            return True
        if name == ONLINE_DP:
            found.online_dp.append(words[index + 1 :])
            return True
    return False


def _given(command: Command) -> Mapping[str, EnvVar]:
    """Return the variables that a command is given."""
    if isinstance(command.env, Environment):
        return command.env.variables
    names = command.names
    return {name: EnvVar.of(name, value, _how(how), names.get(name)) for name, (value, how) in command.env.items()}


def _how(how: str) -> Literal["export", "inline"]:
    return "inline" if how == "inline" else "export"


def add_engine(words: Words, form: Form, label: str, origin: Origin, found: Found, finish: Finish = keep) -> bool:
    """Add the engine that ``words`` start, or the profile that they name, if they start one; return whether they do.

    This is the one way from words to an engine: they carry the syntax in which they were expanded.
    """
    rest, inline = unwrap(filled_before(words))
    profiles = _profiles(rest)
    if profiles:
        found.profiles += profiles
        return True
    start = engine_words(rest) or carried(rest)
    if start is None:
        return False
    program, arguments = start
    env = _inline(inline)
    if any(_HELP.fullmatch(word.value) for word in arguments):
        return True  # it prints and ends
    node = NodeLaunch(form, origin, label, env=env, program=program)
    if _given_more(words, rest) or _given_more(rest, arguments):
        node.env_open = origin
    found.faults += read_arguments(words.having(arguments), node)
    if program == "dynamo":
        own_worker(node)
    elif node.arg("omni") is not None:  # vLLM-Omni takes the command over, with options of its own
        node.program, node.partial = "omni", True
    finish(node)
    for name in [name for name in node.env if HOLE in name]:  # which variable it is, is not known
        node.env_open = node.env_open or node.env[name].value.origin
        del node.env[name]
    if isinstance(words[0].source, FilledFile):
        node.branches = (*node.branches, *words[0].source.branch)
    found.nodes.append(node)
    return True


def drop_repeated(nodes: list[NodeLaunch]) -> None:
    """Keep one of the engines that several variants of one template start alike: it is started in any case."""
    first: dict[object, NodeLaunch] = {}
    for node in nodes:
        args = [(arg.name, arg.origin, str(arg.value and arg.value.plain())) for arg in node.args]
        env = [(name, str(variable.value.value)) for name, variable in node.env.items()]
        before = first.setdefault((node.origin, tuple(args), tuple(env)), node)
        if before is not node:
            before.branches = tuple(branch for branch in before.branches if branch[0] != BRANCH)
    kept = {id(node) for node in first.values()}
    nodes[:] = [node for node in nodes if id(node) in kept]


def _given_more(command: Sequence[Text], rest: Sequence[Text]) -> bool:
    """Whether what is before ``rest`` gives it variables of a file: ``env $(cat decode.env) vllm serve``."""
    before = {word.value.rpartition("/")[2] for word in command[: len(command) - len(rest)]}
    unread = bool(rest) and rest[0].value.startswith(HOLE) and "=" not in rest[0].value
    return ("env" in before and unread) or not _FROM_FILES.isdisjoint(before)


def nest_scripts(
    words: Words, origin: Origin, found: Found, finish: Finish, around: Around, body: Text | None = None
) -> None:
    """Add the scripts that the words of another form run, and what is said of the engines that are not followed.

    A script is written in the words, or is a file that the container finds, or ``body``, what the program reads.
    """
    command = Command(words, {}, origin, body)
    run = around.run_by(words)
    if run is not None:
        found.run.add(place_of(run.script))
        found.nested.append(Nested(run.script, finish, around.env, around, run.positional))
    found.nested += [Nested(script, finish, around.env, around) for script in scripts_inside(command)]
    found.add_faults(list(started_otherwise(command)))


def own_worker(node: NodeLaunch) -> None:
    """Complete a worker of Dynamo: it fills in what is not written, and names its side by options of its own."""
    node.unread, node.partial = node.partial, True
    mode = node.value("disaggregation-mode")
    prefill = node.arg("is-prefill-worker") is not None or (mode is not None and mode.value == "prefill")
    decode = node.arg("is-decode-worker") is not None or (mode is not None and mode.value == "decode")
    if prefill != decode:
        node.side = "prefill" if prefill else "decode"


def _profiles(words: Sequence[Text]) -> list[Followed]:
    """Return the profiles that ``pd-launch decode --profile X`` names."""
    values = [word.value for word in words]
    if values[:1] and values[0].rpartition("/")[2] == "pd-launch" and values[1:2] in (["decode"], ["prefill"]):
        own = words[: values.index("--")] if "--" in values else words
        targets = _given_as("--target", own)
        return [Followed(name, targets[-1] if targets else None) for name in _given_as("--profile", own)]
    return []


def _given_as(option: str, words: Sequence[Text]) -> list[Text]:
    """Return the values of an option, ``--option X`` and ``--option=X``."""
    found = [behind for word, behind in pairwise(words) if word.value == option]
    return found + [w.part(len(option) + 1, len(w.value)) for w in words if w.value.startswith(f"{option}=")]


def _in_container(docker: DockerCommand, command: Command, label: str, found: Found) -> None:
    """Read the command of ``docker run``, or of ``docker exec`` in a container that was started before."""
    container, env_open = docker.container, docker.env_open
    env = {name: EnvVar.of(name, value, "docker", written) for name, (value, written) in docker.env.items()}
    if docker.executes_in is not None:
        earlier = found.containers.get(docker.executes_in)
        if earlier is not None:
            container, env = earlier.container, {**earlier.env, **env}
            env_open = env_open or earlier.env_open
        else:
            container = Container("docker", container.origin, partial=True)
            env_open = env_open or container.origin  # it may have been started with any
    elif container.name:
        found.containers[container.name] = Started(container, env, env_open)

    def finish(node: NodeLaunch) -> None:
        node.container = container
        node.env = {**env, **node.env}
        node.env_open = node.env_open or env_open
        node.host = f"host of {command.origin.file}" if container.host_network else None
        node.branches = command.branches
        node.side = node.side or spoken_side(container.name or "")

    own = [docker.entrypoint] if docker.entrypoint is not None else []
    words = command.words.having([*own, *docker.words])
    words = image_engine(words, container.image, docker.entrypoint is not None or docker.executes_in is not None)
    if not add_engine(words, "docker", label, command.origin, found, finish):
        add_proxy(words, container, found)
        inner = Command(words, {}, command.origin, command.body)
        scripts = scripts_inside(inner)
        found.nested += [Nested(script, finish, env) for script in scripts]
        if not scripts and docker.executes_in is None:
            named = {word.value.rpartition("/")[2] for word in words if word.value.endswith(".sh")}
            found.idle.append(Started(container, env, env_open, named))


def _starts(command: Command, docker: DockerCommand) -> int:
    """Say how surely a reading of a container's command line starts an engine (see ``docker.Judge``)."""
    own = [docker.entrypoint] if docker.entrypoint is not None else []
    words = command.words.having([*own, *docker.words])
    rest, _ = unwrap(image_engine(words, docker.container.image, bool(own) or docker.executes_in is not None))
    if engine_words(rest) is not None:
        return 2
    inner = Command(words.having(rest), {}, command.origin)
    return 1 if carried(rest) is not None or scripts_inside(inner) else 0


def image_engine(words: Words, image: Node | None, has_command: bool) -> Words:
    """Return a container's command; where only arguments are given, the image's own entry point is the program."""
    name = image.text.value if image and image.text else image.string() if image else None
    if has_command or not words or not name or "vllm" not in name.lower():
        return words
    first = words[0]
    serves = "vllm-openai" in name or any(word.value.partition("=")[0] in _ENGINE_FLAGS for word in words)
    if not serves and "vllm" not in name.lower().rpartition("/")[2]:
        return words  # another program of the same project
    program = first.value.rpartition("/")[2] in SHELLS or first.value.endswith((".sh", ".py"))
    bare_model = serves and not program and engine_words(unwrap(words)[0]) is None and "/" in first.value
    twice = first.value == "serve" and "vllm-openai" in name  # which the image says already: it is taken for a model
    if not first.value.startswith("-") and not bare_model and not twice:
        return words
    made = ("python3", "-m", DYNAMO) if "dynamo" in name.lower() else ("vllm", "serve")
    return words.having([*(first.stand_in(word) for word in made), *words])


def as_file(command: Command, run: Run, around: Around) -> Scope:
    """Return the scope of a script that ``command`` runs as a file of its container."""
    given = surroundings(command)
    inherited: Mapping[str, Text | list[Text]] = given.variables if given is not None else {}
    exported = given.exported if given is not None else Journal()
    variables = {**texts_of(around.env, run.script), **inherited}
    return Scope(Journal(variables), exported, positional=dict(run.positional))


def surroundings(command: Command) -> Scope | None:
    """Return the environment that a script inside ``command`` is given; None where it runs on another machine."""
    words, inline = unwrap(command.words)
    if is_remote([word.value for word in words]):
        return None
    env = {name: value for name, (value, _) in [*command.env.items(), *inline.items()]}
    return Scope(Journal(env), Journal(dict.fromkeys(env, True)), positional=parameters_of(words))


def inside(command: Command, finish: Finish) -> Finish:
    """Return ``finish``, which also says when and on which machine ``command`` runs its script."""
    there = elsewhere(command, finish)

    def finish_inside(node: NodeLaunch) -> None:
        there(node)
        node.branches = (*node.branches, *command.branches)
        node.env_open = node.env_open or command.env_open
        node.foreground = node.foreground and command.foreground

    return finish_inside


def elsewhere(command: Command, finish: Finish) -> Finish:
    """Return ``finish``, which also names the machine where ``command`` runs its script on another one."""
    words, _ = unwrap(command.words)
    values = [word.value for word in words]
    if is_remote(values):
        operands = [value for value in values[1:] if not value.startswith("-")]
        machine = " ".join([values[0], *operands[: 1 if values[0] == "ssh" else 2]])
    elif any(word.value == "srun" for word in command.words[:4]):
        machine = f"srun {_node_of_step(command.words) or HOLE}"
    else:
        return finish
    place = f" of line {command.origin.line}" if HOLE in machine else ""

    def finish_there(node: NodeLaunch) -> None:
        finish(node)
        node.host = node.host or f"{machine}{place}"

    return finish_there


def _node_of_step(words: Sequence[Text]) -> str | None:
    """Return the node that ``srun -w NODE`` names; without one Slurm chooses among the nodes of the job."""
    values = [word.value for word in words]
    for value, behind in pairwise(values):
        if value in ("-w", "--nodelist"):
            return behind
        if value.startswith("--nodelist="):
            return value.removeprefix("--nodelist=")
    return None
