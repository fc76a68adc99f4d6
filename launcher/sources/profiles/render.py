"""A profile becomes launches: for each side and node the arguments, JSON and environment that are checked and run.

Every rendered value has the place of the key that it came from; a derived value that of its first input, with the
others as related places; a default that of the nearest enclosing key.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from pd_launch.launcher.sources.profiles.load import LoadedProfile
from pd_launch.launcher.sources.profiles.tiny_model import tiny_model_path
from pd_launch.launcher.sources.profiles.variables import as_written, layered_variables
from pd_launch.launcher.sources.trees.json_tree import parse_json
from pd_launch.schemas.core.build import UnreadError
from pd_launch.schemas.core.launch import JSON_ARGS, Arg, Container, EnvVar, Fault, NodeLaunch
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.parallel import device_range
from pd_launch.schemas.core.target import Target
from pd_launch.schemas.core.units import GIB, MIB, counted, format_size
from pd_launch.schemas.core.values import Node, Origin, Unknown, plain_node
from pd_launch.schemas.engine.additional import switched_on
from pd_launch.schemas.engine.budget import PER_RANK, PREFIX_CACHING, RATIO, TOTAL
from pd_launch.schemas.engine.kv_transfer import BUNDLED_MODULE, MULTI, SIZED_CONNECTORS, TOP_LEVEL_FIELDS, offload_name
from pd_launch.schemas.profile import DecodeSection, ParallelSection, Profile, SideSection
from pd_launch.schemas.releases.vllm_tables import vllm_table

ProfileSide = Literal["prefill", "decode"]
BUILTIN_MODEL = "builtin:tiny"
MULTI_PORT = "data-parallel-multi-port-external-lb"
_NOT_MULTI_PORT = frozenset({"grpc", "uds", "api-server-count"})
DERIVED = {
    "model": "model",
    "port": "port",
    "tensor-parallel-size": "parallel.tensor",
    "pipeline-parallel-size": "parallel.pipeline",
    "prefill-context-parallel-size": "parallel.prefill_context",
    "decode-context-parallel-size": "parallel.decode_context",
    "data-parallel-size": "parallel.data",
    "data-parallel-size-local": "nodes, or parallel.ranks",
    "data-parallel-rank": "parallel.launch: external",
    "data-parallel-start-rank": "nodes",
    "data-parallel-address": "nodes",
    "data-parallel-rpc-port": "rpc_port",
    "data-parallel-hybrid-lb": "parallel.launch: hybrid",
    MULTI_PORT: "parallel.launch: external",
    "headless": "nodes",
    "nnodes": "nodes",
    "node-rank": "nodes",
    "master-addr": "nodes",
    "master-port": "master_port",
    "enable-expert-parallel": "parallel.expert",
    "kv-transfer-config": "transfer and decode.offload",
}
"""Flags that follow from other keys of the profile; ``engine`` may not set them."""

_READ_ON_TOP = ("kv_load_failure_policy", "engine_id")
"""Fields that count only on the top level; a child of a MultiConnector may not even have the second."""

_FLAG = re.compile(r"[A-Za-z0-9][\w-]*(\.[\w+-]+)*")
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
class _Side:
    loaded: LoadedProfile
    profile: Profile
    side: ProfileSide
    section: SideSection
    target: Target
    single: bool = False
    faults: list[Fault] = field(default_factory=list)

    def render(self) -> Rendered:
        layout = self.section.parallel.layout()
        addresses = [node.address for node in getattr(self.profile.nodes, self.side)]
        count = max(1, len(addresses))
        spans = self._nodes_of_an_engine(count)
        if spans > 1:
            return Rendered([self._launch(n, count, n // spans, 1, None, spans) for n in range(count)], self.faults)
        ranks = self.section.parallel.ranks or self._equal_ranks(count)
        if ranks and len(ranks) != count:
            self._fault(
                Msg(
                    f"parallel.ranks has one entry for each node: {counted(count, 'node')}, not {len(ranks)}",
                    f"parallel.ranks 每个节点一项:应当是 {count} 项,而不是 {len(ranks)} 项",
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
            self._fault(
                Msg(
                    f"{counted(data, 'engine')} of {counted(world, 'rank')} cannot be spread over {nodes} nodes",
                    f"{data} 个引擎、每个 {world} 个 rank,不能分到 {nodes} 个节点",
                ),
                "parallel",
                "data",
                help=_spread_help(parallel, nodes),
            )
            return []
        if data % nodes:
            self._fault(
                Msg(
                    f"{data} data-parallel ranks do not divide over {nodes} nodes: give parallel.ranks",
                    f"{data} 个数据并行 rank 不能平均分到 {nodes} 个节点:请写 parallel.ranks",
                ),
                "parallel",
                "data",
                help=_ranks_help(data, nodes),
            )
            return []
        return [data // nodes] * nodes

    def _layered(self, key: str, number: int) -> dict[str, Node]:
        """Return the entries of a section for both sides, with what this side and then this node say over them."""
        tree = self.loaded.tree
        sections = (tree.get(key), tree.get(self.side, key), tree.get("nodes", self.side, number, key))
        return {name: node for section in sections if section for name, node in section.items()}

    def _fault(self, said: Msg, *path: str, help: Msg) -> None:
        self.faults.append(Fault("profile", self.at(*path).origin, said, help=help))

    def at(self, *path: str, shared: bool = False) -> Node:
        """Return the node at a path of this side (or of the whole profile), or of the nearest key that is there.

        A nearest enclosing key stands for a default, and its place says so.
        """
        steps = list(path) if shared else [self.side, *path]
        found = self.loaded.tree.get(*steps)
        if found is not None:
            return found
        while steps:
            steps.pop()
            found = self.loaded.tree.get(*steps)
            if found is not None:
                break
        place = (found.key or found.origin) if found else self.loaded.tree.origin
        origin = Origin(place.file, place.line, place.column, place.end_line, place.end_column, "default")
        return Node(None, origin)

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
        builder = _Arguments(launch)
        launch.model = self._model()
        self._serving(builder, number, index)
        self._parallel(builder, number, nodes, first, local, index)
        if spans > 1:
            self._one_engine_of_several(builder, number, nodes)
        self._engine_flags(builder)
        self._json_arguments(builder, number)
        self._environment(launch, number, index)
        launch.container = self._container()
        return launch

    def _model(self) -> Node:
        node = self.at("model", shared=True)
        value = str(tiny_model_path()) if self.profile.model == BUILTIN_MODEL else self.profile.model
        return Node(value, node.origin, key=node.key)

    def _host(self, number: int) -> str:
        """The machine: its address where that is written; launches of one node share it, those of others do not."""
        address = self._address(number)
        return address if address and address != "auto" else f"{self.side} node {number}"

    def _address(self, number: int) -> str | None:
        nodes = getattr(self.profile.nodes, self.side)
        return nodes[number].address if number < len(nodes) else None

    def _serving(self, builder: _Arguments, number: int, index: int | None) -> None:
        headless = self._is_headless(number)
        if not headless:
            place = self.at("port")
            builder.add("port", self.section.port + (index or 0), place)

    def _is_headless(self, number: int) -> bool:
        internal = self.section.parallel.launch == "internal" or self.section.parallel.data == 1
        return internal and number > 0

    def _one_engine_of_several(self, builder: _Arguments, number: int, nodes: int) -> None:
        """Add what lets the nodes of an engine find each other: all meet at node 0."""
        where = self.loaded.tree.get("nodes", self.side, 0, "address") or self.at("nodes", shared=True)
        master = self._address(0)
        builder.add("nnodes", nodes, where)
        builder.add("node-rank", number, where)
        builder.add("master-addr", Unknown("auto") if master == "auto" else master, where)
        builder.add("master-port", self.section.master_port, self.at("master_port"))
        if number > 0 and self.section.parallel.data == 1:
            builder.add("headless", True, where)

    def _parallel(
        self, builder: _Arguments, number: int, nodes: int, first: int, local: int, index: int | None
    ) -> None:
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
        master = self._address(0)
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

    def _engine_flags(self, builder: _Arguments) -> None:
        merged: dict[str, Node] = {}
        for section in (self.loaded.tree.get("engine"), self.loaded.tree.get(self.side, "engine")):
            said: dict[str, str] = {}
            for key, node in section.items() if section else ():
                name = key.replace("_", "-")
                earlier = said.setdefault(name.removeprefix("no-"), key)
                if earlier != key:
                    en, zh = f"{key} is the same flag as {earlier}", f"{key} 与 {earlier} 是同一个参数"
                    self._refuse(node, Msg(en, zh), Msg("keep one of them", "只保留其中一个"))
                merged.pop(name.removeprefix("no-") if name.startswith("no-") else f"no-{name}", None)
                merged[name] = node
        for name, node in merged.items():
            base = name.partition(".")[0].removeprefix("no-")
            if not _FLAG.fullmatch(name):
                self._refuse(
                    node,
                    Msg(f"{name!r} is no long name of a flag, without dashes", f"{name!r} 不是参数的长名(不写横线)"),
                    Msg("write for example max-num-seqs: 128", "例如写 max-num-seqs: 128"),
                )
            elif base in DERIVED:
                en = f"{name} follows from {DERIVED[base]}; set it there"
                help = Msg(f"delete it here and set {DERIVED[base]}", f"在这里删掉,改写 {DERIVED[base]}")
                self._refuse(node, Msg(en, f"{name} 由 {DERIVED[base]} 得出,请在那里设置"), help)
            elif name != "additional-config":
                builder.add(name, node.plain(), node)
        self.faults += [fault for fault in builder.faults if fault not in self.faults]

    def _refuse(self, node: Node, said: Msg, help: Msg) -> None:
        fault = Fault("profile", node.key or node.origin, said, help=help)
        if fault not in self.faults:
            self.faults.append(fault)

    def _json_arguments(self, builder: _Arguments, number: int) -> None:
        config = self._kv_transfer(number)
        if config is not None:
            builder.json("kv-transfer-config", config)
        additional = self._additional()
        if additional is not None:
            builder.json("additional-config", additional)

    def _additional(self) -> Node | None:
        written = self.loaded.tree.get(self.side, "engine", "additional-config")
        written = written or self.loaded.tree.get("engine", "additional-config")
        offload = self.section.offload if isinstance(self.section, DecodeSection) else None
        if offload is None or not self.target.is_ascend:
            return written
        if written is not None and not isinstance(written.value, dict):
            example = "additional-config: {enable_cpu_binding: true}"
            self._refuse(
                written,
                Msg("additional-config is a mapping", "additional-config 应当是映射"),
                Msg(f"write for example {example}", f"例如写 {example}"),
            )
            return None
        place = self.at("offload")
        plain = written.plain() if written else {}
        switched = plain_node(switched_on(plain, self.target), place.key or place.origin)
        return _overlay(switched, written)

    def _kv_transfer(self, number: int) -> Node | None:
        written = self.loaded.tree.get(self.side, "kv_transfer_config")
        if written is not None and written.value is not None:
            return written
        role = "kv_consumer" if self.side == "decode" else "kv_producer"
        transfer = self._transfer(role, number) if self.profile.transfer else None
        offload = self._offload(role)
        if offload is None or transfer is None:
            return transfer or offload
        place = self.at("transfer", "connector", shared=True)
        shared = {key: transfer.value.pop(key) for key in _READ_ON_TOP if key in transfer.value}
        extra: dict[str, Any] = {"connectors": Node([transfer, offload], place.origin)}
        for sizes in ("prefill", "decode"):  # the platform's own checks look here, not into children
            found = transfer.get("kv_connector_extra_config", sizes)
            if found is not None:
                extra[sizes] = found
        tree: dict[str, Any] = {"kv_connector": MULTI, "kv_role": role, **shared}
        return plain_node({**tree, "kv_connector_extra_config": extra}, place.origin)

    def _transfer(self, role: str, number: int) -> Node:
        transfer = self.profile.transfer
        assert transfer is not None
        place = self.at("transfer", "connector", shared=True)
        tree: dict[str, Any] = {"kv_connector": place, "kv_role": role}
        extra: dict[str, Any] = {}
        for key, node in self._layered("transfer", number).items():
            if key == "connector":
                continue
            if key == "load_failure_policy":
                tree["kv_load_failure_policy"] = node
            elif key == "kv_connector_extra_config":
                extra.update(node.items())
            elif key in TOP_LEVEL_FIELDS:
                tree[key] = node
            else:
                extra[key] = node
        if transfer.connector in SIZED_CONNECTORS:
            extra = {**self._sizes(), **extra}
        if extra:
            tree["kv_connector_extra_config"] = extra
        return plain_node(tree, place.origin)

    def _sizes(self) -> dict[str, Any]:
        sizes: dict[str, Any] = {}
        for side in ("prefill", "decode"):
            section = getattr(self.profile, side)
            if section is not None:
                data = self.at(side, "parallel", "data", shared=True)
                tensor = self.at(side, "parallel", "tensor", shared=True)
                parallel = section.parallel
                sizes[side] = {
                    "dp_size": Node(parallel.data, data.origin),
                    "tp_size": Node(parallel.tensor, tensor.origin),
                }
                if parallel.pipeline > 1:
                    pipeline = self.at(side, "parallel", "pipeline", shared=True)
                    sizes[side]["pp_size"] = Node(parallel.pipeline, pipeline.origin)
        return sizes

    def _offload(self, role: str) -> Node | None:
        offload = self.section.offload if isinstance(self.section, DecodeSection) else None
        if offload is None:
            return None
        place = self.at("offload").key or self.at("offload").origin
        tree: dict[str, Any] = {"kv_connector": offload_name(self.target), "kv_role": role}
        if offload.connector == "bundled":
            tree["kv_connector_module_path"] = BUNDLED_MODULE
        extra: dict[str, Any] = {}
        if offload.ratio is not None:
            extra[RATIO] = Node(offload.ratio, self.at("offload", "ratio").origin)
        elif offload.cpu_bytes_to_use is not None:
            extra[TOTAL] = replace(self.at("offload", "cpu_bytes_to_use"), value=offload.cpu_bytes_to_use, key=None)
        else:
            extra[PER_RANK] = self._per_rank()
        if offload.prefix_caching:
            extra[PREFIX_CACHING] = replace(self.at("offload", "prefix_caching"), key=None)
        return plain_node({**tree, "kv_connector_extra_config": extra}, place)

    def _per_rank(self) -> Node:
        """Return the bytes of one rank; a total for an engine or a node must divide evenly."""
        assert isinstance(self.section, DecodeSection) and self.section.offload is not None
        offload, parallel = self.section.offload, self.section.parallel
        if offload.per_rank is not None:
            return Node(offload.per_rank, self.at("offload", "per_rank").origin)
        key = "per_engine" if offload.per_engine is not None else "per_node"
        total = offload.per_engine if offload.per_engine is not None else offload.per_node
        assert total is not None
        ranks = parallel.layout().world_size
        if key == "per_node":
            nodes = max(1, len(self.profile.nodes.decode))
            if parallel.data >= nodes:
                ranks *= max(parallel.ranks) if parallel.ranks else parallel.data // nodes
            else:
                ranks = max(1, ranks * parallel.data // nodes)
        place = self.at("offload", key)
        if total % ranks or total < ranks:
            self._refuse(
                place,
                Msg(
                    f"{key}: {total} bytes do not divide evenly over {ranks} ranks; write per_rank",
                    f"{key} 的 {total} 字节不能平均分给 {ranks} 个 rank,请写 per_rank",
                ),
                _division_help(key, total, ranks),
            )
        related = tuple(self.at("parallel", k).origin for k in ("tensor", "pipeline") if getattr(parallel, k) > 1)
        return Node(max(1, total // ranks), place.origin, related=related)

    def _environment(self, launch: NodeLaunch, number: int, index: int | None) -> None:
        tree = self.loaded.tree
        sections = (tree.get("env"), tree.get(self.side, "env"), tree.get("nodes", self.side, number, "env"))
        launch.env |= layered_variables([section for section in sections if section is not None])
        unset = {name for name, variable in launch.env.items() if variable.value.value is None}
        self._network(launch, number)
        variable = launch.hardware.device_variable if launch.hardware else None
        if index is not None and variable and variable not in unset:
            self._visible(launch, variable, index)
        for name in unset:
            del launch.env[name]

    def _visible(self, launch: NodeLaunch, variable: str, index: int) -> None:
        """Give the ``index``-th engine of a node its own devices, out of those that the profile names, if any."""
        span = device_range(index, self.section.parallel.layout().world_size)
        named = launch.variable(variable)
        numbers = [n.strip() for n in named.split(",")] if named else None
        if numbers is not None and len(numbers) < span.stop:
            return  # too few: PD401 says so
        own = ",".join(numbers[i] if numbers else str(i) for i in span)
        place = launch.env[variable].value.origin if named else self.at("parallel", "data").origin
        launch.env[variable] = EnvVar(variable, Node(own, place), "profile")

    def _network(self, launch: NodeLaunch, number: int) -> None:
        if self.profile.network is not None:
            place = self.at("network", "interface", shared=True)
            value = self.profile.network.interface
            for name in ("GLOO_SOCKET_IFNAME", "TP_SOCKET_IFNAME", "HCCL_SOCKET_IFNAME"):
                if name.startswith("HCCL") and not self.target.is_ascend:
                    continue
                launch.env.setdefault(name, EnvVar(name, _auto(value, place.origin), "profile"))
        address = self._address(number)
        if address is not None and self.target.is_ascend:
            place = self.loaded.tree.get("nodes", self.side, number, "address") or self.at("nodes", shared=True)
            launch.env.setdefault("HCCL_IF_IP", EnvVar("HCCL_IF_IP", _auto(address, place.origin), "profile"))

    def _container(self) -> Container | None:
        said = self.profile.container
        if said is None:
            return None
        place = self.at("container", shared=True)
        container = Container("profile", place.key or place.origin)
        if said.image is not None:
            container.image = self.at("container", "image", shared=True)
        for key in ("shm_size", "memory"):
            size = getattr(said, key)
            if size is not None:
                setattr(container, key, replace(self.at("container", key, shared=True), value=size, shadowed=[]))
        container.runtime = said.runtime
        return container


def _spread_help(parallel: ParallelSection, nodes: int) -> Msg:
    if parallel.ranks is None and parallel.launch != "internal" and nodes % parallel.data == 0:
        return Msg(
            "an engine reaches over several nodes only with launch: internal; or list fewer nodes",
            "只有 launch: internal 时引擎才能跨多个节点;也可以少写节点",
        )
    return Msg(
        "let the nodes be a multiple of data, and tensor × pipeline × prefill_context divide over those of one engine",
        "让节点数是 data 的倍数,并让 tensor × pipeline × prefill_context 能平均分到一个引擎的各节点",
    )


def _ranks_help(data: int, nodes: int) -> Msg:
    shares = [data // nodes + (number < data % nodes) for number in range(nodes)]
    if not all(shares):
        return Msg(f"write data: {nodes} or more, or fewer nodes", f"把 data 写成不小于 {nodes},或少写节点")
    return Msg(f"write for example ranks: {shares}", f"例如写 ranks: {shares}")


def _division_help(key: str, total: int, ranks: int) -> Msg:
    share = max(1, total // ranks)
    for unit in (GIB, MIB):  # a round number, where there is one
        if share > 64 * unit // 16:
            share -= share % unit
            break
    whole, each = format_size(share * ranks), format_size(share)
    return Msg(f"write for example per_rank: {each}, or {key}: {whole}", f"例如写 per_rank: {each},或 {key}: {whole}")


def _auto(value: str, origin: Origin) -> Node:
    return Node(Unknown("auto") if value == "auto" else value, origin)


def _overlay(tree: Node, written: Node | None) -> Node:
    """Return ``tree`` with the places of what ``written`` also has."""
    if written is None or not isinstance(tree.value, dict) or not isinstance(written.value, dict):
        return tree
    for key, node in written.value.items():
        mine = tree.value.get(key)
        if mine is None or mine.plain() == node.plain():
            tree.value[key] = node
        else:
            tree.value[key] = _overlay(mine, node)
    return tree


_OPTION = re.compile(r"-(?![\d.])")


@dataclass
class _Arguments:
    """Collects a launch's arguments in the order of its command line."""

    launch: NodeLaunch
    faults: list[Fault] = field(default_factory=list)

    def add(self, name: str, value: Any, place: Node) -> None:
        """Add a flag: True is a bare flag, False its negation, None nothing, a list several words, a mapping JSON."""
        origin = place.key or place.origin
        if value is None:
            return
        if isinstance(value, bool):
            self.launch.add(
                Arg(
                    name if value else f"no-{name}", f"--{name if value else f'no-{name}'}", origin, text=place.key_text
                )
            )
        elif isinstance(value, dict):
            self.json(name, place)
        elif isinstance(value, list):
            nodes = [_word(part) for part in place.elements()]
            self.no_options(name, nodes)
            first, more = nodes[0] if nodes else None, tuple(nodes[1:])
            self.launch.add(Arg(name, f"--{name}", origin, first, more, place.key_text))
        else:
            same = name not in DERIVED and place.plain() == value
            node = _word(place if same else Node(value, place.origin, related=place.related))
            self.no_options(name, [node])
            self.launch.add(Arg(name, f"--{name}", origin, self._tree(name, node), text=place.key_text))

    def no_options(self, name: str, words: list[Node]) -> None:
        """Refuse words that the command line would take for options: nothing would check or hide what these say."""
        self.faults += [
            _option_for_value(name, word) for word in words if isinstance(word.value, str) and _OPTION.match(word.value)
        ]

    def _tree(self, name: str, node: Node) -> Node:
        """Read a JSON argument that is written as text."""
        if name not in JSON_ARGS or node.text is None or not node.text.value.lstrip().startswith("{"):
            return node
        tree, faults = parse_json(node.text)
        self.faults += faults
        return node if faults else tree

    def json(self, name: str, tree: Node) -> None:
        self.launch.add(Arg(name, f"--{name}", tree.key or tree.origin, tree))


def _option_for_value(name: str, node: Node) -> Fault:
    return Fault(
        "profile",
        node.origin,
        Msg(
            f"the value of {name} must not begin with -: the command line would take it for an option",
            f"{name} 的值不能以 - 开头:命令行会把它当成选项",
        ),
        help=Msg("write the value itself", "请写值本身"),
    )


def _word(node: Node) -> Node:
    """Return a scalar as the word that the command line gets, as it is written where it is written."""
    if isinstance(node.value, (dict, list)):
        return node
    value: Any = node.value if isinstance(node.value, (str, Unknown)) else as_written(node)
    return replace(node, value=value, shadowed=[])


def argument_words(args: Iterable[Arg]) -> list[tuple[str, Arg, Node | None]]:
    """Return the words of the command line behind the model, each with its argument and, if it is one, its value."""
    words: list[tuple[str, Arg, Node | None]] = []
    for arg in args:
        if arg.name:
            words.append((arg.written, arg, None))
        for node in (arg.value, *arg.more) if arg.value is not None else ():
            value = node.value
            if isinstance(value, (dict, list)):
                value = json_text(node.plain())
            words.append((_unknown_text(value), arg, node))
    return words


def json_text(value: Any) -> str:
    """Return plain data as one line of JSON; what is unknown stands as it was written."""
    return json.dumps(value, ensure_ascii=False, default=_unknown_text)


def _unknown_text(value: object) -> str:
    return value.text if isinstance(value, Unknown) else str(value)


def replace_arguments(launch: NodeLaunch, extra: Iterable[Arg]) -> None:
    """Let extra arguments replace rendered ones of the same name; dotted ones change their part of a JSON argument."""
    extra = [_with_dotted(launch, arg) for arg in extra]
    names = {arg.name for arg in extra}
    names |= {name.removeprefix("no-") for name in names} | {f"no-{name}" for name in names}
    launch.replace(names, extra)


def _with_dotted(launch: NodeLaunch, arg: Arg) -> Arg:
    if "." not in arg.written or arg.name not in JSON_ARGS or arg.value is None:
        return arg
    rendered = launch.value(arg.name)
    tree = arg.value if rendered is None else _changed(rendered, arg.value)
    return Arg(arg.name, f"--{arg.name}", arg.origin, tree)


def _changed(tree: Node, change: Node) -> Node:
    """Return ``tree`` with what ``change`` sets in it."""
    if not isinstance(tree.value, dict) or not isinstance(change.value, dict):
        return change
    value = dict(tree.value)
    for key, node in change.value.items():
        value[key] = _changed(value[key], node) if key in value else node
    return Node(value, tree.origin, key=tree.key, related=tree.related)
