"""A profile becomes launches: for each side and node the arguments, JSON and environment that are checked and run.

Every rendered value has the place of the key that it came from; a derived value that of its first input, with the
others as related places; a default that of the nearest enclosing key.
"""

from __future__ import annotations

from dataclasses import field

from pd_launch.launcher.sources.profiles.arguments import DERIVED, MULTI_PORT, Arguments
from pd_launch.launcher.sources.profiles.kv_transfer import KvTransfer
from pd_launch.launcher.sources.profiles.load import LoadedProfile
from pd_launch.launcher.sources.profiles.surroundings import Surroundings
from pd_launch.schemas.core.build import UnreadError
from pd_launch.schemas.core.launch import Fault, NodeLaunch, ProfileSide
from pd_launch.schemas.core.lazy import lazy_pattern
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.record import dataclass
from pd_launch.schemas.core.target import Target
from pd_launch.schemas.core.units import counted
from pd_launch.schemas.core.values import Node, Unknown
from pd_launch.schemas.profile import ParallelSection
from pd_launch.schemas.releases.vllm_tables import vllm_table

BUILTIN_MODEL = "builtin:tiny"
_NOT_MULTI_PORT = frozenset({"grpc", "uds", "api-server-count"})
_FLAG = lazy_pattern(r"[A-Za-z0-9][\w-]*(\.[\w+-]+)*")
_PARALLEL_FLAGS = (
    ("tensor", "tensor-parallel-size"),
    ("pipeline", "pipeline-parallel-size"),
    ("prefill_context", "prefill-context-parallel-size"),
    ("decode_context", "decode-context-parallel-size"),
)


@dataclass
class Rendered:
    """The launches of one side, one for each process, and what kept the profile from being rendered."""

    launches: list[NodeLaunch] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)


def render(loaded: LoadedProfile, side: ProfileSide, target: Target, single: bool = False) -> Rendered:
    """Return the launches of all nodes of ``side`` for ``target``; none where the profile has no such side.

    ``single`` asks for one command for each rank of external DP, even where the release starts those of a node itself.
    """
    profile = loaded.profile
    section = getattr(profile, side) if profile else None
    if profile is None or section is None:
        return Rendered()
    return _Side(loaded, profile, side, section, target, single).render()


@dataclass
class _Side(KvTransfer, Surroundings):
    def render(self) -> Rendered:
        layout = self.section.parallel.layout()
        addresses = [node.address for node in getattr(self.profile.nodes, self.side)]
        count = max(1, len(addresses))
        spans = self._nodes_of_an_engine(count)
        if spans > 1:
            return Rendered([self._launch(n, count, n // spans, 1, None, spans) for n in range(count)], self.faults)
        ranks = self.section.parallel.ranks or self._equal_ranks(count)
        if ranks and len(ranks) != count:
            self.fault(
                Msg(
                    f"parallel.ranks has one entry for each node: {counted(count, 'node')}, not {len(ranks)}",
                    f"parallel.ranks 每个节点一项：应当是 {count} 项，而不是 {len(ranks)} 项",
                ),
                "parallel",
                "ranks",
                help=_ranks_help(layout.data, count),
            )
            return Rendered([], self.faults)
        launches = []
        first = 0
        for number, local in enumerate(ranks):
            external = self.section.parallel.launch == "external" and layout.data > 1 and not self._multi_port(ranks)
            for index in range(local if external else 1):
                launches.append(self._launch(number, count, first + index, local, index if external else None))
            first += local
        return Rendered(launches, self.faults)

    def _multi_port(self, ranks: list[int]) -> bool:
        """Whether vLLM itself starts the ranks of external DP on a node, each with its own port and devices.

        It wants equal nodes of two ranks or more, and counts TP × PP devices for each. It gives them their devices by
        --device-ids, which no vllm-ascend is known to obey, so there every rank is a command with its own variable.
        """
        parallel = self.section.parallel
        if self.single or self.target.is_ascend or parallel.launch != "external" or parallel.prefill_context > 1:
            return False
        if min(ranks) < 2 or len(set(ranks)) > 1:
            return False
        sections = (self.loaded.tree.get("engine"), self.loaded.tree.get(self.side, "engine"))
        flags = {key.replace("_", "-") for section in sections if section for key, _ in section.items()}
        try:
            return not flags & _NOT_MULTI_PORT and vllm_table(self.target).entry("flags", MULTI_PORT) is not None
        except UnreadError:
            return False  # a command for each rank is right in every build

    def _nodes_of_an_engine(self, nodes: int) -> int:
        """Return over how many nodes each engine reaches: several where there are more nodes than engines."""
        parallel = self.section.parallel
        world = parallel.layout().world_size
        if parallel.ranks is not None or nodes % parallel.data or world % (nodes // parallel.data):
            return 1
        if parallel.data > 1 and parallel.launch != "internal":
            return 1
        return nodes // parallel.data

    def _equal_ranks(self, nodes: int) -> list[int]:
        parallel, data = self.section.parallel, self.section.parallel.data
        if nodes > data:
            world = parallel.layout().world_size
            self.fault(
                Msg(
                    f"{counted(data, 'engine')} of {counted(world, 'rank')} cannot be spread over {nodes} nodes",
                    f"{data} 个引擎、每个 {world} 个 rank，不能分到 {nodes} 个节点",
                ),
                "parallel",
                "data",
                help=_spread_help(parallel, nodes),
            )
            return []
        if data % nodes:
            self.fault(
                Msg(
                    f"{counted(data, 'rank')} cannot be spread evenly over {nodes} nodes: write parallel.ranks",
                    f"{data} 个数据并行 rank 不能平均分到 {nodes} 个节点：请写 parallel.ranks",
                ),
                "parallel",
                "data",
                help=_ranks_help(data, nodes),
            )
            return []
        return [data // nodes] * nodes

    def _launch(self, number: int, nodes: int, first: int, local: int, index: int | None, spans: int = 1) -> NodeLaunch:
        profile, side = self.profile, self.side
        launch = NodeLaunch(
            "profile",
            self.at().key or self.at().origin,
            f"{side} node {number}" if nodes > 1 else side,
            side=side,
            hardware=profile.hardware_kind(),
            host=self._host(number),
            node_rank=number,
            nodes=nodes,
        )
        builder = Arguments(launch)
        launch.model = self._model()
        self._serving(builder, number, index)
        self._parallel(builder, number, nodes, first, local, index)
        if spans > 1:
            self._one_engine_of_several(builder, number, nodes)
        self._engine_flags(builder)
        self.json_arguments(builder, number)
        self.environment(launch, number, index)
        launch.container = self.container()
        return launch

    def _model(self) -> Node:
        node = self.at("model", shared=True)
        if self.profile.model != BUILTIN_MODEL:
            return Node(self.profile.model, node.origin, key=node.key)
        from pd_launch.launcher.sources.profiles.tiny_model import tiny_model_path

        return Node(str(tiny_model_path()), node.origin, key=node.key)

    def _host(self, number: int) -> str:
        """The machine: its address where that is written; launches of one node share it, those of others do not."""
        address = self.address(number)
        return address if address and address != "auto" else f"{self.side} node {number}"

    def _serving(self, builder: Arguments, number: int, index: int | None) -> None:
        headless = self._is_headless(number)
        if not headless:
            place = self.at("port")
            builder.add("port", self.section.port + (index or 0), place)

    def _is_headless(self, number: int) -> bool:
        internal = self.section.parallel.launch == "internal" or self.section.parallel.data == 1
        return internal and number > 0

    def _one_engine_of_several(self, builder: Arguments, number: int, nodes: int) -> None:
        """Add what lets the nodes of an engine find each other: all meet at node 0."""
        where = self.loaded.tree.get("nodes", self.side, 0, "address") or self.at("nodes", shared=True)
        master = self.address(0)
        builder.add("nnodes", nodes, where)
        builder.add("node-rank", number, where)
        builder.add("master-addr", Unknown("auto") if master == "auto" else master, where)
        builder.add("master-port", self.section.master_port, self.at("master_port"))
        if number > 0 and self.section.parallel.data == 1:
            builder.add("headless", True, where)

    def _parallel(self, builder: Arguments, number: int, nodes: int, first: int, local: int, index: int | None) -> None:
        parallel = self.section.parallel
        for key, flag in _PARALLEL_FLAGS:
            size = getattr(parallel, key)
            if size != 1 or key == "tensor":
                builder.add(flag, size, self.at("parallel", key))
        if parallel.expert:
            builder.add("enable-expert-parallel", True, self.at("parallel", "expert"))
        if parallel.data == 1:
            return
        place = self.at("parallel", "data")
        builder.add("data-parallel-size", parallel.data, place)
        master = self.address(0)
        where = self.loaded.tree.get("nodes", self.side, 0, "address") or place
        if index is not None:
            builder.add("data-parallel-rank", first, place)
        else:
            builder.add("data-parallel-size-local", local, self.at("parallel", "ranks") if parallel.ranks else place)
            if first or (nodes > 1 and parallel.launch == "hybrid"):  # on node 0 even rank 0 would switch to hybrid
                builder.add("data-parallel-start-rank", first, place)
            if parallel.launch == "hybrid":
                builder.add("data-parallel-hybrid-lb", True, self.at("parallel", "launch"))
            elif parallel.launch == "external":
                builder.add(MULTI_PORT, True, self.at("parallel", "launch"))
            elif number > 0:
                builder.add("headless", True, where)
        if master is not None and (nodes > 1 or index is not None or master != "auto"):
            builder.add("data-parallel-address", Unknown("auto") if master == "auto" else master, where)
        builder.add("data-parallel-rpc-port", self.section.rpc_port, self.at("rpc_port"))

    def _engine_flags(self, builder: Arguments) -> None:
        merged: dict[str, Node] = {}
        for section in (self.loaded.tree.get("engine"), self.loaded.tree.get(self.side, "engine")):
            said: dict[str, str] = {}
            for key, node in section.items() if section else ():
                name = key.replace("_", "-")
                earlier = said.setdefault(name.removeprefix("no-"), key)
                if earlier != key:
                    en, zh = f"{key} is the same flag as {earlier}", f"{key} 与 {earlier} 是同一个参数"
                    self.refuse(node, Msg(en, zh), Msg("keep one of them", "只保留其中一个"))
                merged.pop(name.removeprefix("no-") if name.startswith("no-") else f"no-{name}", None)
                merged[name] = node
        for name, node in merged.items():
            base = name.partition(".")[0].removeprefix("no-")
            if not _FLAG.fullmatch(name):
                self.refuse(
                    node,
                    Msg(f"{name!r} is not a flag's long name without dashes", f"{name!r} 不是参数的长名（不写横线）"),
                    Msg("write for example max-num-seqs: 128", "例如写 max-num-seqs: 128"),
                )
            elif base in DERIVED:
                en = f"{name} follows from {DERIVED[base]}; set it there"
                help = Msg(f"delete it here and set {DERIVED[base]}", f"在这里删掉，改写 {DERIVED[base]}")
                self.refuse(node, Msg(en, f"{name} 由 {DERIVED[base]} 得出，请在那里设置"), help)
            elif name != "additional-config":
                builder.add(name, node.plain(), node)
        self.faults += [fault for fault in builder.faults if fault not in self.faults]


def _spread_help(parallel: ParallelSection, nodes: int) -> Msg:
    if parallel.ranks is None and parallel.launch != "internal" and nodes % parallel.data == 0:
        return Msg(
            "an engine can span several nodes only with launch: internal; or list fewer nodes",
            "只有 launch: internal 时引擎才能跨多个节点；也可以少写节点",
        )
    return Msg(
        (
            "make the number of nodes a multiple of data, and tensor × pipeline × prefill_context divide evenly over "
            "the nodes of one engine"
        ),
        "让节点数是 data 的倍数，并让 tensor × pipeline × prefill_context 能平均分到一个引擎的各节点",
    )


def _ranks_help(data: int, nodes: int) -> Msg:
    shares = [data // nodes + (number < data % nodes) for number in range(nodes)]
    if not all(shares):
        return Msg(f"write data: {nodes} or more, or fewer nodes", f"把 data 写成不小于 {nodes}，或少写节点")
    return Msg(f"write for example ranks: {shares}", f"例如写 ranks: {shares}")
