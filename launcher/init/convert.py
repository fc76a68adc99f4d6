"""Existing launches become one profile; it is rendered again and compared, and every difference is named."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Any

from pd_launch.launcher.init.compare import Left, compare
from pd_launch.launcher.init.here import INTERFACES, is_here
from pd_launch.launcher.init.layout import AUTO, Layout, own_devices, read_layout
from pd_launch.launcher.init.notes import told
from pd_launch.launcher.init.patches import patches_of
from pd_launch.launcher.init.surroundings import container_section, device_numbers, replicas_of
from pd_launch.launcher.init.transfer import Parts, shared, take_apart, without_derived
from pd_launch.launcher.init.write import write_profile
from pd_launch.launcher.secrets.masking import Held, all_secrets, is_held, is_secret_flag, mask, tells
from pd_launch.launcher.sources.forms.chart_words import ADDED, KSERVE_DECODE_PORT
from pd_launch.launcher.sources.profiles.arguments import DERIVED, MULTI_PORT
from pd_launch.launcher.sources.release.targets import assumed
from pd_launch.schemas.core.errors import ValueFault
from pd_launch.schemas.core.hardware import HARDWARE, Hardware
from pd_launch.schemas.core.launch import Deployment, NodeLaunch
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.record import dataclass
from pd_launch.schemas.core.switches import REPEATABLE
from pd_launch.schemas.core.target import Choice
from pd_launch.schemas.core.values import HOLE, Node, Unknown
from pd_launch.schemas.engine.port_range import first_rank

_NONE = object()
SIDES = ("prefill", "decode")
_TOLERATION = frozenset({"key", "operator", "value", "effect", "tolerationSeconds"})
_VOLUME = frozenset({"path", "pvc", "secret", "empty", "host", "read_only"})
_DERIVED = frozenset({*DERIVED, "model", "additional-config"})


@dataclass
class Converted:
    """A profile's text, what it leaves out or adds, and what was assumed."""

    text: str
    left: list[Left] = field(default_factory=list)
    notes: list[Msg] = field(default_factory=list)
    equal: int = 0
    engines: int = 0


def convert(deployments: Sequence[Deployment], name: str = "converted") -> Converted:
    """Return one profile for all engines of ``deployments``; at least one.

    Raises:
        ValueError: there is no engine with a model that can be read.
    """
    return _Conversion(deployments, name).run()


class _Conversion:
    def __init__(self, deployments: Sequence[Deployment], name: str) -> None:
        self.name = name
        self.choice = deployments[0].choice or Choice.of(deployments[0].target)
        self.target = self.choice.decided or assumed(deployments[0].ascend)
        self.ascend = deployments[0].ascend
        self.faults = [fault for deployment in deployments for fault in deployment.faults]
        self.engines = [node for deployment in deployments for node in deployment.nodes]
        self.sources = [source for deployment in deployments for source in deployment.sources.values()]
        self.held = Held(all_secrets(deployments))
        self.notes: list[Msg] = []
        self.left: list[Left] = []
        self.sides: dict[str, list[NodeLaunch]] = {}
        self.layouts: dict[str, Layout] = {}
        for node in self.engines:
            self.sides.setdefault(side_of(node), []).append(node)
        for nodes in self.sides.values():
            nodes.sort(key=lambda node: (first_rank(node) or 0, node.number("node-rank", 0) or 0))

    def run(self) -> Converted:
        models = [str(n.model.value) for n in self.engines if n.model and isinstance(n.model.value, str)]
        if not models:
            raise ValueFault(
                Msg(
                    "no engine with a known model was found: nothing to make a profile of",
                    "没有找到模型已知的引擎：无法生成配置文件",
                )
            )
        profile = self.profile(models[0])
        self.notes += [self.masked(note) for note in told(self.engines, self.faults, self.layouts)]
        whole: set[str] = set()
        for _ in range(2):
            profile = self.without_secrets(self.with_transfer(profile, whole))
            text = mask(write_profile(profile, self.notes), self.held.secrets)
            outcome = compare(text, self.sides, self.layouts, self.target)
            wrong = outcome.transfer_differs - whole
            if not wrong:
                break
            whole |= wrong
        patches = patches_of(text, self.sources, self.name)
        if patches.by_form:
            text = mask(write_profile({**profile, "patch": patches.by_form}, self.notes), self.held.secrets)
        return Converted(text, [*self.left, *patches.left, *outcome.left], self.notes, outcome.equal, len(self.engines))

    def profile(self, model: str) -> dict[str, Any]:
        hardware = self.hardware()
        profile: dict[str, Any] = {"version": 1, "name": self.name}
        if self.choice.decided is not None:
            profile["target"] = (
                f"vllm-ascend=={self.target.vllm_ascend}" if self.target.is_ascend else f"vllm=={self.target.vllm}"
            )
        profile["hardware"] = hardware.kind
        profile["model"] = model
        sections = {side: self.side(side, nodes, hardware) for side, nodes in self.sides.items()}
        for key in ("engine", "env"):
            common = _hoisted([section[key] for section in sections.values()])
            if common:
                profile[key] = common
            for section in sections.values():
                section[key] = {k: v for k, v in section[key].items() if k not in common}
        network = self.network([section["env"] for section in sections.values()] + [profile.get("env", {})])
        if network:
            profile["network"] = {"interface": network}
        container, unsaid = container_section(self.engines, hardware)
        self.notes += unsaid
        if container:
            profile["container"] = container
        nodes = {side: self.nodes(side, layout, hardware) for side, layout in self.layouts.items() if layout.addresses}
        if nodes:
            profile["nodes"] = nodes
        for side in SIDES:
            if side in sections:
                profile[side] = sections[side]
        return profile

    def hardware(self) -> Hardware:
        given = next((node.hardware for node in self.engines if node.hardware is not None), None)
        if given is not None and given.ascend is self.ascend:
            return given
        images = [n.container.image.string() or "" for n in self.engines if n.container and n.container.image]
        if self.ascend:
            kind = "a3" if not images or any("a3" in image for image in images) else "a2"
            if not any("a3" in image for image in images):
                self.notes.append(Msg(f"hardware {kind} is assumed", f"hardware 假定为 {kind}"))
            return HARDWARE[kind]
        cpu = any(n.variable("VLLM_CPU_KVCACHE_SPACE") for n in self.engines) or any("cpu" in i for i in images)
        return HARDWARE["cpu" if cpu else "cuda"]

    def side(self, side: str, nodes: list[NodeLaunch], hardware: Hardware) -> dict[str, Any]:
        variable = hardware.device_variable
        layout = self.layouts[side] = read_layout(nodes, hardware.devices, variable)
        section: dict[str, Any] = {}
        if layout.port is None and side == "decode" and ADDED in nodes[0].env:
            section["port"] = KSERVE_DECODE_PORT
        elif layout.port not in (None, 8000):
            section["port"] = layout.port
        if layout.rpc_port is not None:
            section["rpc_port"] = layout.rpc_port
        if layout.master_port is not None:
            section["master_port"] = layout.master_port
        if layout.parallel:
            section["parallel"] = layout.parallel
        if (replicas := replicas_of(nodes)) > 1:
            section["replicas"] = replicas
        section["engine"] = self.flags(nodes[0])
        section["env"] = self.variables(nodes[0], layout, variable)
        return section

    def flags(self, node: NodeLaunch) -> dict[str, Any]:
        flags: dict[str, Any] = {}
        for arg in node.args:
            name = arg.name.removeprefix("no-") if arg.value is None else arg.name
            if not name or (name in _DERIVED and name != "additional-config") or name == MULTI_PORT:
                continue
            if is_secret_flag(name) or HOLE in name:
                continue
            if arg.value is None:
                flags[name] = arg.name == name
            elif name in REPEATABLE and name in flags and arg.value.complete():
                flags[name] = [*_listed(flags[name]), arg.value.plain()]
            elif all(v.complete() for v in (arg.value, *arg.more)):
                flags[name] = [v.plain() for v in (arg.value, *arg.more)] if arg.more else arg.value.plain()
            else:
                flags.pop(name, None)
        return flags

    def variables(self, node: NodeLaunch, layout: Layout, variable: str | None) -> dict[str, Any]:
        env: dict[str, Any] = {}
        for name, found in node.env.items():
            if name == ADDED:
                continue  # it holds the arguments themselves
            join = found.join
            if join is not None:
                env[name] = {key: text for key, text in (("prepend", join.before), ("append", join.after)) if text}
            elif not isinstance(found.value.value, Unknown) and not self.held.variable(name, str(found.value.value)):
                env[name] = found.value.plain()
        if variable and (devices := device_numbers(node, variable)) is not None:
            env[variable] = devices
        if layout.external and variable:
            if env.get(variable) == own_devices(layout, node, variable):
                del env[variable]
            elif variable not in node.env:
                env[variable] = None
        if self.ascend and layout.addresses:
            if env.get("HCCL_IF_IP") in layout.addresses:
                env.pop("HCCL_IF_IP")
            elif "HCCL_IF_IP" not in node.env:
                env["HCCL_IF_IP"] = None
        return env

    def nodes(self, side: str, layout: Layout, hardware: Hardware) -> list[dict[str, Any]]:
        """Return a side's nodes, with the variables in which a node differs from the first engine's."""
        nodes: list[dict[str, Any]] = [{"address": address} for address in layout.addresses]
        first, *others = self.sides[side]
        base = self.variables(first, layout, hardware.device_variable)
        for engine in others:
            number = layout.node_of(engine)
            if number == layout.node_of(first) or "env" in nodes[number]:
                continue
            own = self.variables(engine, layout, hardware.device_variable)
            differs = {k: own.get(k) for k in {**base, **own} if own.get(k) != base.get(k)}
            differs.pop(hardware.device_variable or "", None)
            if differs:
                nodes[number]["env"] = differs
        return nodes

    def network(self, environments: list[dict[str, Any]]) -> str | None:
        """Take the network interface out of the variables, where all sides name one and the same."""
        wanted = [name for name in INTERFACES if self.ascend or not name.startswith("HCCL")]
        names = {AUTO if is_here(n.env.get(name)) else n.variable(name) for n in self.engines for name in wanted}
        if len(names) != 1 or None in names:
            return None
        for env in environments:
            for name in wanted:
                env.pop(name, None)
        return names.pop()

    def with_transfer(self, profile: dict[str, Any], whole: set[str]) -> dict[str, Any]:
        """Add transfer and offload, or the configuration written out for the sides in ``whole``."""
        trees = {side: nodes[0].kv_transfer for side, nodes in self.sides.items()}
        parts: dict[str, Parts] = {}
        for side, tree in trees.items():
            fits = tree is not None and side not in whole and _role_fits(tree, side)
            apart = take_apart(tree, self.target) if tree is not None and fits else None
            if apart is not None and not (apart.offload and side == "prefill"):
                parts[side] = apart
        derived = {side: _sizes(layout) for side, layout in self.layouts.items()}
        common, own = shared({side: without_derived(p.transfer, derived) for side, p in parts.items() if p.transfer})
        nodes = self.node_transfers(parts, profile)
        lacking = [s for s, tree in trees.items() if s in profile and tree is None]
        profile = {key: value for key, value in profile.items() if key != "transfer"}
        if nodes:
            profile["nodes"] = nodes
        if common and not lacking:
            profile["transfer"] = common
        for side, tree in trees.items():
            section = {k: v for k, v in profile[side].items() if k not in ("transfer", "offload", "kv_transfer_config")}
            if side in parts and ((common and not lacking) or not parts[side].transfer):
                if own.get(side):
                    section["transfer"] = own[side]
                if parts[side].offload:
                    section["offload"] = parts[side].offload
            elif tree is not None and tree.complete():
                section["kv_transfer_config"] = tree.plain()
            profile[side] = section
        return profile

    def without_secrets(self, value: Any) -> Any:
        """Return plain data without the entries that are secret, by their names or by what is in them."""
        if isinstance(value, dict) and value and (set(value) <= _TOLERATION or set(value) <= _VOLUME):
            return value  # the name of a Secret is none itself, nor is the key of a taint
        if isinstance(value, dict):
            kept = {k: v for k, v in value.items() if not self.is_hidden(str(k), v)}
            return {k: self.without_secrets(v) for k, v in kept.items()}
        return [self.without_secrets(v) for v in value] if isinstance(value, list) else value

    def is_hidden(self, name: str, value: Any) -> bool:
        """Whether an entry of the profile would show a secret."""
        return (tells(name, value) and is_held(value)) or (isinstance(value, str) and self.held.in_text(value))

    def masked(self, note: Msg) -> Msg:
        """Return a note without the secrets that it quotes."""
        return Msg(mask(note.en, self.held.secrets), mask(note.zh, self.held.secrets))

    def node_transfers(self, parts: dict[str, Parts], profile: dict[str, Any]) -> dict[str, Any]:
        """Return the nodes with what of the transfer differs on each from its side's first engine."""
        out: dict[str, Any] = {}
        for side, nodes in profile.get("nodes", {}).items():
            own = out[side] = [{k: v for k, v in node.items() if k != "transfer"} for node in nodes]
            layout = self.layouts[side]
            for engine in self.sides[side][1:] if side in parts else ():
                tree = engine.kv_transfer
                apart = take_apart(tree, self.target) if tree is not None else None
                if apart is None:
                    continue
                base = parts[side].transfer
                differs = {k: v for k, v in apart.transfer.items() if k != "connector" and base.get(k, _NONE) != v}
                if differs and layout.node_of(engine) != layout.node_of(self.sides[side][0]):
                    own[layout.node_of(engine)]["transfer"] = differs
        return out


def side_of(node: NodeLaunch) -> str:
    """Return the profile's side for an engine; one that does both counts as decode."""
    if node.side in SIDES:
        return str(node.side)
    return "prefill" if node.role == "kv_producer" else "decode"


def _role_fits(tree: Node, side: str) -> bool:
    role = tree.get("kv_role")
    return role is not None and role.value == ("kv_producer" if side == "prefill" else "kv_consumer")


def _sizes(layout: Layout) -> dict[str, int]:
    sizes = {"dp_size": layout.parallel.get("data", 1), "tp_size": layout.parallel.get("tensor", 1)}
    if layout.parallel.get("pipeline", 1) > 1:
        sizes["pp_size"] = layout.parallel["pipeline"]
    return sizes


def _hoisted(sections: list[dict[str, Any]]) -> dict[str, Any]:
    """Return what all of several sections say alike."""
    if len(sections) < 2:
        return {}
    first, *others = sections
    return {k: v for k, v in first.items() if all(k in o and o[k] == v for o in others)}


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
