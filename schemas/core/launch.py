"""The canonical form of every input: a deployment of nodes, each one launch of one vLLM engine.

A profile is rendered into it, a script or manifest is parsed into it, and rules see nothing else. What is unknown
before the launch is None in derived numbers and :class:`~pd_launch.schemas.core.values.Unknown` in written values.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import field, replace
from typing import Any, Literal, NamedTuple

from pd_launch.schemas.core.hardware import Hardware
from pd_launch.schemas.core.joins import Join, read_join
from pd_launch.schemas.core.msg import NOTHING, Msg
from pd_launch.schemas.core.record import dataclass
from pd_launch.schemas.core.switches import paired
from pd_launch.schemas.core.target import Choice, Target
from pd_launch.schemas.core.units import human_integer
from pd_launch.schemas.core.values import Node, Origin, SourceFile, Splice, Text, Unknown, as_integer

Side = Literal["prefill", "decode", "mixed"]
ProfileSide = Literal["prefill", "decode"]
Means = Literal["profile", "export", "inline", "docker", "compose", "manifest", "yaml", "e2e", "python"]
Form = Literal["profile", "shell", "docker", "compose", "manifest", "systemd", "e2e", "python", "command", "options"]
JSON_ARGS = (
    "kv-transfer-config",
    "additional-config",
    "speculative-config",
    "compilation-config",
    "hf-overrides",
    "kv-events-config",
    "eplb-config",
    "profiler-config",
    "structured-outputs-config",
    "override-generation-config",
    "default-chat-template-kwargs",
    "mm-processor-kwargs",
    "model-loader-extra-config",
    "ec-transfer-config",
)
"""Arguments whose value is a JSON object."""
SIZED_ARGS = ("max-model-len", "max-num-batched-tokens", "max-num-scheduled-tokens", "max-num-queued-tokens")
"""Arguments that count tokens and may end in k, M, G or T."""
PARALLEL_ARGS = frozenset({
    "tensor-parallel-size", "pipeline-parallel-size", "prefill-context-parallel-size", "data-parallel-size",
    "data-parallel-size-local", "data-parallel-rank", "data-parallel-start-rank", "nnodes",
})  # fmt: skip
"""Arguments that say how an engine is spread: programs around vLLM that complete others leave these as they are."""


@dataclass(frozen=True)
class Arg:
    """One argument of the command line. ``name`` is the long name without dashes, ``written`` the word as it is.

    ``value`` is None for a bare flag. For a JSON argument it is the object's tree, with the written text beside it.
    """

    name: str
    written: str
    origin: Origin
    value: Node | None = None
    more: tuple[Node, ...] = ()
    """Further values of a flag that takes several."""
    text: Text | None = field(default=None, compare=False, repr=False)
    """The characters of the flag, where it can be written anew."""


@dataclass(frozen=True)
class EnvVar:
    """An environment variable of the engine. ``how`` says by which means it is set."""

    name: str
    value: Node
    how: Means = "export"
    joins: Join | None = None
    """What is put around the value that it has before, of a profile; ``value`` is unknown then."""

    @property
    def join(self) -> Join | None:
        """What is put around the value that the variable has before, or None where it is replaced."""
        if self.joins is not None or self.how not in ("export", "inline"):
            return self.joins
        return read_join(self.name, self.value.text)

    @classmethod
    def of(cls, name: str, value: Text, how: Means, written: Text | None = None) -> EnvVar:
        """Return a variable whose value is a text; ``written`` is its name as it is written."""
        node = value.node()
        if written is not None:
            node.key, node.key_text = written.origin(), written
        return cls(name, node, how)


@dataclass
class Container:
    """What a container form says of the engine's surroundings. None: not said."""

    form: Literal["docker", "compose", "manifest", "profile"]
    origin: Origin
    image: Node | None = None
    shm_size: Node | None = None
    shm_shared: Origin | None = None
    """``--ipc=host``, ``hostIPC`` or another mount on /dev/shm: its size is not this container's."""
    memory: Node | None = None
    devices: list[Node] = field(default_factory=list)
    mounts: list[Node] = field(default_factory=list)
    volumes: list[dict[str, Any]] = field(default_factory=list)
    """Mounts that are no folders of the host: ``path``, and ``pvc``, ``secret``, ``empty`` or another ``kind``."""
    privileged: bool = False
    runtime: str | None = None
    host_network: bool | None = None
    published: list[Node] = field(default_factory=list)
    numbered: Node | None = None
    """The host's devices that it gets, by number, joined by commas."""
    probed: list[Node] = field(default_factory=list)
    """Ports at which the cluster asks whether the container lives, that nothing else in its pod speaks of."""
    asked: list[list[Node]] = field(default_factory=list)
    """Ports at which each Service sends requests to the container, where nothing else in its pod speaks of them."""
    resources: dict[str, Node] = field(default_factory=dict)
    name: str | None = None
    replicas: int | None = None
    """Instances of its pod, or of the group of pods that it is in, where that is said."""
    placement: dict[str, Any] = field(default_factory=dict)
    """What a pod says of its nodes and for other programs: ``node_selector``, ``tolerations``, ``annotations``."""
    partial: bool = False
    """Whether an unknown word may stand for further options: what is not said may still be there."""
    kserve: bool = False
    """Whether KServe's own templates alone make its command: nothing that is written adds an argument."""
    spread: bool = False
    """Whether it joins a Ray cluster: its engines may reach over several containers."""
    grouped: bool = False
    """Whether it is one of several that are started together: an engine that says nothing else may reach over them."""


@dataclass(frozen=True)
class Fault:
    """Something that kept a part of the input from being read; a rule of family PD0 turns it into a finding."""

    kind: str
    origin: Origin
    detail: Msg = NOTHING
    fix: tuple[Splice, ...] = ()
    fix_is_safe: bool = False
    help: Msg = NOTHING


class _Index(NamedTuple):
    """The arguments of a launch by name, and of which arguments that is true."""

    args: tuple[Arg, ...]
    by_name: dict[str, list[Arg]]

    @classmethod
    def of(cls, args: tuple[Arg, ...]) -> _Index:
        found: dict[str, list[Arg]] = {}
        for arg in args:
            found.setdefault(arg.name, []).append(arg)
        return cls(args, found)


@dataclass
class NodeLaunch:
    """One launch of one engine, or of the engines that one command starts on one node."""

    form: Form
    origin: Origin
    label: str
    args: tuple[Arg, ...] = ()
    """The arguments in their order; a tuple, so that whatever is worked out from it holds as long as it does."""
    env: dict[str, EnvVar] = field(default_factory=dict)
    env_open: Origin | None = None
    """Where further variables may come from that are not known: another file, whatever starts it. None: from nowhere.

    Each form says it of what it reads; rules never look for it themselves.
    """
    kept: dict[str, Origin] = field(default_factory=dict)
    """Variables that the script sets, does not export and does not read itself, and where."""
    model: Node | None = None
    program: Literal["serve", "api_server", "python", "dynamo", "omni", "kserve"] = "serve"
    side: Side | None = None
    """What the input says of the side (a section's or group's name), not the kv_role."""
    container: Container | None = None
    hardware: Hardware | None = None
    host: str | None = None
    """Nodes with the same host run on the same machine; None is unknown."""
    node_rank: int = 0
    nodes: int | None = None
    choice: Choice | None = None
    """The release that it is for, or may be for; None: that of its deployment."""
    model_config: dict[str, Any] | None = None
    """The model's config.json, where it can be read."""
    proxies: bool = False
    partial: bool = False
    """Whether an unknown word may stand for further arguments: what is not written may still be there."""
    dp_group: Node | None = None
    """The address of the DP master as a launcher of a machine's ranks is given it, also where it is not known.

    Its place is where the launcher is told how many ranks it starts.
    """
    unread: bool = False
    """Whether an unknown word stands for further arguments of a program that completes what is not written anyway."""
    branches: tuple[tuple[int, int], ...] = ()
    """The branches of conditions in its file that lead to it: place of the condition, number of the branch.

    The place -1 counts how often the script stopped what it had started before.
    """
    foreground: bool = False
    """Whether its script waits for its end, so that what comes after it never runs beside it."""
    lmcache: Node | None = None
    """The file of LMCache's options that it is given, where that can be read."""
    _index: _Index | None = field(default=None, init=False, repr=False, compare=False)

    def add(self, *args: Arg) -> None:
        """Add arguments after those that are there."""
        self.args = (*self.args, *args)

    def replace(self, names: Collection[str], args: Iterable[Arg]) -> None:
        """Put arguments in place of all those with one of the long names; they come last."""
        self.args = (*(arg for arg in self.args if arg.name not in names), *args)

    def named(self, name: str) -> list[Arg]:
        """Return all arguments of that long name, in order."""
        return self.by_name.get(name, [])

    @property
    def by_name(self) -> Mapping[str, list[Arg]]:
        """The arguments by long name, in order; the last one counts."""
        if self._index is None or self._index.args is not self.args:
            self._index = _Index.of(self.args)
        return self._index.by_name

    def arg(self, name: str) -> Arg | None:
        """Return the last argument of that long name, which is the one that counts."""
        found = self.by_name.get(name)
        return found[-1] if found else None

    def value(self, name: str) -> Node | None:
        """Return the value of the last argument of that name, or None."""
        arg = self.arg(name)
        return arg.value if arg else None

    def number(self, name: str, default: int) -> int | None:
        """Return an integer argument; ``default`` where it is absent, None where it is unknown or no integer."""
        arg = self.arg(name)
        if arg is None:
            return None if self._may_have(name) else default
        if arg.value is None:
            return None
        number = as_integer(arg.value.value)
        if number is None and name in SIZED_ARGS and isinstance(arg.value.value, str):
            return human_integer(arg.value.value.strip())
        return number

    def _may_have(self, name: str) -> bool:
        """Whether an argument that is not written may still be given."""
        if self.program != "dynamo" or name not in PARALLEL_ARGS:
            return self.partial
        in_group = self.container is not None and self.container.grouped
        return self.unread or in_group or "config" in self.by_name or "engine-config-json" in self.by_name

    def switch(self, name: str) -> bool | None:
        """Return what ``--NAME`` or its opposite, whichever comes last, says; None where neither is given."""
        names = (name, f"no-{name}", paired(name))
        last = [a for a in self.args if a.name in names]
        if not last:
            return None
        arg = last[-1]
        if is_unknown(arg.value):
            return None
        if arg.name != name:
            return False
        if arg.value is not None and isinstance(arg.value.value, str):
            return arg.value.value.strip().lower() in ("1", "true", "yes", "on")
        return not (arg.value is not None and arg.value.value is False)

    @property
    def kv_transfer(self) -> Node | None:
        """The tree of --kv-transfer-config, or None; unknown where an unknown word may give it."""
        return self._json("kv-transfer-config")

    @property
    def additional(self) -> Node | None:
        """The tree of --additional-config, or None; unknown where an unknown word may give it."""
        return self._json("additional-config")

    def _json(self, name: str) -> Node | None:
        if self.partial and self.arg(name) is None:
            return Node(Unknown("…"), self.origin)
        return self.value(name)

    @property
    def role(self) -> str | None:
        """The top-level kv_role, or None where it is absent or unknown."""
        tree = self.kv_transfer
        role = tree.get("kv_role") if tree else None
        return role.string() if role else None

    @property
    def tensor(self) -> int | None:
        """Tensor-parallel size."""
        return self.number("tensor-parallel-size", 1)

    @property
    def pipeline(self) -> int | None:
        """Pipeline-parallel size."""
        return self.number("pipeline-parallel-size", 1)

    @property
    def prefill_context(self) -> int | None:
        """Prefill-context-parallel size."""
        return self.number("prefill-context-parallel-size", 1)

    @property
    def data(self) -> int | None:
        """Data-parallel size of the whole side."""
        return self.number("data-parallel-size", 1)

    @property
    def world_size(self) -> int | None:
        """Ranks of one engine: TP × PP × PCP, or None where one of them is unknown."""
        sizes = (self.tensor, self.pipeline, self.prefill_context)
        if None in sizes:
            return None
        tensor, pipeline, context = (s or 0 for s in sizes)
        return tensor * pipeline * context

    @property
    def machines(self) -> int | None:
        """Machines over which --nnodes spreads the ranks of this side's engines; None where that is unknown."""
        return self.number("nnodes", 1)

    @property
    def local_world(self) -> int | None:
        """Ranks of one engine that run on this node: all of them, or the node's share; None where it is unknown."""
        world, data, machines, engines = self.world_size, self.data, self.machines, self.local_engines
        if machines == 1 or world is None:
            return world
        if not machines or not data or not engines:
            return None
        within = max(machines // max(data // engines, 1), 1)
        return None if world % within else world // within

    @property
    def external_dp(self) -> bool:
        """Whether this command starts one rank of an external-DP side."""
        return self.arg("data-parallel-rank") is not None

    @property
    def local_engines(self) -> int | None:
        """Engines (DP ranks) that this command starts on its node; None where that is unknown."""
        if self.external_dp or "data-parallel-external-lb" in self.by_name:
            return 1
        local = self.arg("data-parallel-size-local")
        if local is not None:
            return self.number("data-parallel-size-local", 1)
        data, machines = self.data, self.machines
        return data if machines == 1 or not data or not machines else max(data // machines, 1)

    def variable(self, name: str) -> str | None:
        """Return the value of an environment variable; None where it is not set or unknown."""
        found = self.env.get(name)
        return found.value.string() if found else None


@dataclass
class Proxy:
    """A P/D proxy that the input starts: which program, and the hosts and ports it is given."""

    origin: Origin
    program: str
    words: list[Node] = field(default_factory=list)
    container: Container | None = None
    """The container that it runs in, where that has a network of its own."""


@dataclass
class Request:
    """A completion for which a script asks this machine, or one of which only a placeholder is written."""

    address: Node
    model: Node | None = None
    """The model that it names, where that can be read."""


@dataclass
class Deployment:
    """All nodes that are checked together, with what is known around them."""

    target: Target
    nodes: list[NodeLaunch] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    sources: dict[str, SourceFile] = field(default_factory=dict)
    proxies: list[Proxy] = field(default_factory=list)
    host: dict[str, Any] | None = None
    """Facts of the host (contracts: Host facts); None: nothing is known of it."""
    ascend: bool = True
    forms: set[str] = field(default_factory=set)
    """Input forms that were recognised, with or without an engine."""
    choice: Choice | None = None
    """The release that what belongs to no engine is for, or may be for; None: ``target``."""
    renderer: Callable[[Target], Deployment] | None = None
    """How a profile is rendered for another release; None: what is there is the same under each."""
    guessed: list[Origin] = field(default_factory=list)
    """Where texts are of which it is a guess that they are run: nothing about their grammar is an error."""
    _views: dict[Target, Deployment] = field(default_factory=dict, init=False, repr=False, compare=False)
    requests: list[Request] = field(default_factory=list)
    """What scripts ask the engines for."""
    require_target: bool = False
    """Whether an engine whose release nothing decides is an error."""

    def part_of(self, node: NodeLaunch) -> int | None:
        """Return which of the guessed texts a launch is in, by its number; None: in none."""
        return next((number for number, text in enumerate(self.guessed) if text.holds(node.origin)), None)

    def under(self, target: Target) -> Deployment:
        """Return the deployment as it is for another release."""
        if self.renderer is not None:
            return self if target == self.target else self.renderer(target)
        found = self._views.get(target)
        if found is None:
            found = self._views[target] = replace(self, target=target, ascend=target.is_ascend)
        return found

    def faults_of(self, kind: str) -> Iterator[Fault]:
        """Iterate over the faults of one kind."""
        return (fault for fault in self.faults if fault.kind == kind)

    def fact(self, name: str) -> Any:
        """Return a host fact, or None where it is unknown."""
        return None if self.host is None else self.host.get(name)


def is_unknown(node: Node | None) -> bool:
    """Whether there is a value and it is unknown."""
    return node is not None and isinstance(node.value, Unknown)
