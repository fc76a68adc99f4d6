"""Test descriptions of vllm-ascend: ``deployment``, ``templates`` with ``config``, and ``test_cases``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pd_launch.launcher.sources.engine.engines import add_engine
from pd_launch.launcher.sources.engine.found import Found
from pd_launch.launcher.sources.text.interpolate import E2E, Lookup, Words, expand, expand_command, expand_value
from pd_launch.launcher.sources.text.limits import not_followed
from pd_launch.schemas.core.hardware import HARDWARE, Hardware
from pd_launch.schemas.core.launch import EnvVar, Fault, NodeLaunch, Side
from pd_launch.schemas.core.lazy import lazy_pattern
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.values import HOLE, Node, Origin, Text, as_integer

MAX_RANKS = 256
_NO_VALUE = ("DEFAULT_PORT",)
"""Words that the test runner replaces by a value of its own."""
_NODE_ADDRESS = lazy_pattern(r"NODE_\d+_IP")


def is_e2e(tree: Node) -> bool:
    """Whether a document is such a description."""
    return any(entry.get(key) is not None for entry, key in _entries(tree))


def _entries(tree: Node) -> Iterator[tuple[Node, str]]:
    for section, key in (
        ("deployment", "server_cmd"),
        ("templates", "server_cmd_template"),
        ("test_cases", "server_cmd"),
    ):
        listed = tree.get(section)
        for entry in listed.elements() if listed else ():
            yield entry, key


def read_e2e(tree: Node, path: str, found: Found) -> None:
    """Add the engines of a description to ``found``: each rank that a template is started for is one."""
    for number, (entry, key) in enumerate(_entries(tree)):
        command = entry.get(key)
        if command is None:
            continue
        written = entry.get("node_index")
        index = as_integer(written.value) if written else None
        index = number if index is None else index
        configs = _configs(tree, index, found) if key == "server_cmd_template" else []
        for values in configs or [_addresses(tree, index)]:
            _engine(tree, entry, command, index, values, path, found)


def _configs(tree: Node, index: int, found: Found) -> list[dict[str, str]]:
    """Return the values of a template's placeholders for each rank that the node starts."""
    listed = tree.get("config")
    for config in listed.elements() if listed else ():
        own = config.get("node_index")
        if own is None or as_integer(own.value) != index:
            continue
        number = {k: v.integer() for k, v in config.items()}
        local, first, port = number.get("dp_size_local"), number.get("dp_rank_start"), number.get("port_start")
        tensor, pipeline = number.get("tp_size"), number.get("pp_size", 1)
        size = None if tensor is None or pipeline is None else tensor * pipeline
        fixed = {
            "DP_SIZE": "dp_size",
            "TP_SIZE": "tp_size",
            "PP_SIZE": "pp_size",
            "DP_ADDRESS": "dp_address",
            "DP_RPC_PORT": "dp_rpc_port",
        }
        shared = {name: str(node.value) for name, key in fixed.items() if (node := config.get(key)) is not None}
        ranks = []
        if local is not None and local > MAX_RANKS:
            found.add_faults([too_many_ranks((config.get("dp_size_local") or config).origin, MAX_RANKS)])
        for i in range(min(local if local is not None else 1, MAX_RANKS)):
            values = dict(shared)
            if first is not None:
                values["DP_RANK"] = str(first + i)
            if port is not None:
                values["PORT"] = values["SERVER_PORT"] = str(port + i)
            if size is not None and 0 < size <= MAX_RANKS:
                values["VISIBLE_DEVICES"] = ",".join(str(d) for d in range(i * size, (i + 1) * size))
            ranks.append(values)
        return ranks
    return []


def too_many_ranks(origin: Origin, most: int) -> Fault:
    """Return the fault of a node that starts more ranks than are followed."""
    limit = Msg(f"more than {most} ranks on one node", f"一个节点上超过 {most} 个 rank")
    return not_followed(origin, limit, Msg("those from there on are not checked", "其余的 rank 没有检查"))


def _addresses(tree: Node, index: int) -> dict[str, str]:
    """Return the addresses that the test runner gives a node: its own, and that of the first node of its side."""
    if tree.get("deployment") is None:
        return {}
    decoders = tree.get("disaggregated_prefill", "decoder_host_index")
    first = next((as_integer(node.value) for node in decoders.elements()), None) if decoders is not None else None
    master = first if _side(tree, index) == "decode" and first is not None else 0
    return {"LOCAL_IP": f"NODE_{index}_IP", "MASTER_IP": f"NODE_{master}_IP"}


def _engine(
    tree: Node, entry: Node, command: Node, index: int, values: Mapping[str, str], path: str, found: Found
) -> None:
    env: dict[str, EnvVar] = {}

    def lookup(name: str) -> str | None:
        value = values.get(name)
        if value is None and name in env:
            value = env[name].value.string()
        if value is None and _NODE_ADDRESS.fullmatch(name):
            return name
        if value is not None and "$" in value:
            return _address(value)
        return None if value in _NO_VALUE else value

    envs = entry.get("envs") or tree.get("env_common")
    for name, node in envs.items() if envs else ():
        if node.text is not None:
            env[name] = EnvVar.of(name, expand_value(node.text, E2E, lookup), "e2e", node.key_text)
    words = _words(command, lookup, found)
    source = words[0].source if words else None
    if source is None:
        return
    if words[0].value.startswith("-"):
        words = words.having([*(_made(word, words[0]) for word in ("vllm", "serve")), *words])

    def finish(node: NodeLaunch) -> None:
        node.env = {**env, **node.env}
        node.env_open = command.key or command.origin  # the test runner sets variables of its own
        node.side = _side(tree, index)
        node.host = f"node {index}"
        node.node_rank = 0
        node.hardware = _hardware(tree)
        model = entry.get("model") or tree.get("model")
        if node.model is None and model is not None:
            node.model = model

    add_engine(words, "e2e", f"node {index}", command.key or command.origin, found, finish)


def _made(word: str, at: Text) -> Text:
    return at.stand_in(word)


def _address(value: str) -> str:
    """An address that is not known yet but differs from every other: ``${NODE_1_IP}`` stays as a name."""
    return value.replace("${", "").replace("}", "").replace("$", "")


def _words(command: Node, lookup: Lookup, found: Found) -> Words:
    if isinstance(command.value, list):
        return expand((part.text for part in command.elements() if part.text is not None), E2E, lookup)
    if command.text is None:
        return expand((), E2E)
    words, unclosed = expand_command(command.text, E2E, lookup)
    if unclosed is not None:
        found.faults.append(Fault("shell", unclosed, Msg("this quote is never closed", "这个引号没有闭合")))
    return words.having(word for word in words if word.value.strip() or HOLE in word.value)


def _side(tree: Node, index: int) -> Side | None:
    for side, places in (
        ("prefill", (("routing", "groups", "prefiller"), ("disaggregated_prefill", "prefiller_host_index"))),
        ("decode", (("routing", "groups", "decoder"), ("disaggregated_prefill", "decoder_host_index"))),
    ):
        for place in places:
            listed = tree.get(*place)
            if listed is not None and any(as_integer(n.value) == index for n in listed.elements()):
                return side  # type: ignore[return-value]
    return None


def _hardware(tree: Node) -> Hardware | None:
    node = tree.get("npu_per_node")
    count = as_integer(node.value) if node else None
    return {16: HARDWARE["a3"], 8: HARDWARE["a2"]}.get(count or 0)
