"""Options of vLLM that need others, or that must divide or bound others: what it refuses at start without a model."""

from __future__ import annotations

from collections.abc import Iterator

from pd_launch.launcher.rules.pd1_role.option_pairs import Conflict
from pd_launch.launcher.rules.places import surely_absent
from pd_launch.schemas.core.launch import NodeLaunch
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.target import Target
from pd_launch.schemas.core.values import Node
from pd_launch.schemas.engine.speculation import TOKENS, config_of, method
from pd_launch.schemas.models.known import model_of
from pd_launch.schemas.releases.stock import ASYNC_DRAFTS, MULTI_PORT

NEEDS = {
    "enable-auto-tool-choice": "tool-call-parser",
    "enable-log-outputs": "enable-log-requests",
    "collect-detailed-traces": "otlp-traces-endpoint",
    "numa-bind-nodes": "numa-bind",
    "numa-bind-cpus": "numa-bind",
    "enable-elastic-ep": "enable-eplb",
}
"""Flag → the flag without which it is refused, in every release of the tables."""
NGRAM = ("ngram", "[ngram]", "ngram_gpu")
_ASYNC_REFUSED = ("ngram", "[ngram]", "suffix", "medusa", "mlp_speculator")
"""Methods that synchronous scheduling alone serves, in every release that refuses any."""


def needs(node: NodeLaunch, target: Target) -> Iterator[Conflict]:
    """Yield every option of ``node`` that ``target``'s vLLM refuses for want of another, or beside another."""
    for name, other in NEEDS.items():
        if (node.switch(name) or node.value(name) is not None) and surely_absent(node, other):
            yield _needs(node, name, f"--{other}")
    yield from _nsight(node)
    yield from _single_drafts(node)
    yield from _valued(node)
    yield from _heads(node)
    yield from _drafts(node, target)
    yield from _context(node)
    yield from _machines(node)
    yield from _supervised(node, target)
    yield from _experts(node)
    yield from _adapters(node)
    yield from _profiler(node)
    yield from _whitespace(node)
    yield from _encoder(node)


def _needs(node: NodeLaunch, name: str, other: str) -> Conflict:
    return Conflict(
        node.named(name)[-1].origin,
        f"--{name} needs {other}: the engine refuses it on its own",
        f"--{name} 需要同时写 {other}：单独写会被引擎拒绝",
        None,
        Msg(f"add {other}, or leave --{name} out", f"加上 {other}，或去掉 --{name}"),
    )


def _nsight(node: NodeLaunch) -> Iterator[Conflict]:
    backend = node.value("distributed-executor-backend")
    if node.switch("ray-workers-use-nsight") and not node.partial and (backend is None or backend.value == "mp"):
        yield _needs(node, "ray-workers-use-nsight", "--distributed-executor-backend ray")


def _single_drafts(node: NodeLaunch) -> Iterator[Conflict]:
    """A number of drafts alone, without anything that makes them."""
    if node.arg("spec-tokens") is None or node.arg("speculative-config") is not None:
        return
    if surely_absent(node, "spec-method") and surely_absent(node, "spec-model"):
        yield _needs(node, "spec-tokens", "--spec-method or --spec-model")


def _valued(node: NodeLaunch) -> Iterator[Conflict]:
    """Options that need another one with a value of its own."""
    if node.value("mamba-ssu-algorithm") is not None and surely_absent(node, "mamba-backend"):
        yield _needs(node, "mamba-ssu-algorithm", "--mamba-backend flashinfer")
    if node.switch("enable-mamba-cache-stochastic-rounding") and surely_absent(node, "mamba-ssm-cache-dtype"):
        yield _needs(node, "enable-mamba-cache-stochastic-rounding", "--mamba-ssm-cache-dtype float16")
    metrics = node.value("per-request-spec-decode-metrics")
    drafted = any(not surely_absent(node, name) for name in ("speculative-config", "spec-method", "spec-model"))
    if metrics is not None and metrics.string() in ("summary", "detailed") and not drafted:
        yield _needs(node, "per-request-spec-decode-metrics", "--speculative-config")
    balanced = any(not surely_absent(node, name) for name in ("data-parallel-external-lb", "data-parallel-rank"))
    if node.switch("enable-fault-tolerance") and not balanced:
        yield _needs(node, "enable-fault-tolerance", "--data-parallel-external-lb or --data-parallel-rank")
    backend = node.value("offload-backend")
    if backend is not None and backend.value == "prefetch" and surely_absent(node, "offload-group-size"):
        yield _needs(node, "offload-backend", "--offload-group-size of 1 or more")
    method_, tokens = node.value("spec-method"), "spec-tokens"
    if method_ is not None and method_.value in NGRAM and surely_absent(node, tokens):
        yield _needs(node, "spec-method", f"--{tokens}")


def _heads(node: NodeLaunch) -> Iterator[Conflict]:
    """Every rank takes as many attention heads of the model as the others."""
    model, tensor, written = model_of(node), node.tensor, node.value("tensor-parallel-size")
    heads = model.heads if model is not None else None
    if written is None or not tensor or not heads or node.arg("hf-overrides") is not None or heads % tensor == 0:
        return
    yield Conflict(
        written.origin,
        f"{heads} attention heads of this model cannot be spread evenly over tensor-parallel size {tensor}",
        f"这个模型的 {heads} 个注意力头不能平均分到 {tensor} 个张量并行 rank",
        None,
        Msg(f"write a divisor of {heads}", f"写 {heads} 的约数"),
    )


def _place(config: Node, key: str) -> Node:
    return config.get(key) or config


def _drafts(node: NodeLaunch, target: Target) -> Iterator[Conflict]:
    config = config_of(node)
    if config is None or not config.known or not isinstance(config.value, dict):
        return
    name, tokens = config.get("method"), config.get(TOKENS)
    if name is not None and name.value in NGRAM and tokens is None:
        yield Conflict(
            name.origin,
            f"drafting with {name.value} needs {TOKENS}: no model supplies the number",
            f"{name.value} 草稿需要写 {TOKENS}：没有草稿模型，无从得知 token 数",
            None,
            Msg(f'write "{TOKENS}": 3, for example', f'例如写 "{TOKENS}": 3'),
        )
    if tokens is not None and config.get("model") is None and name is None:
        yield Conflict(
            tokens.key or tokens.origin,
            "neither a draft method nor a draft model is given",
            "既没有草稿方法，也没有草稿模型",
            None,
            Msg('add "method" or "model"', '加上 "method" 或 "model"'),
        )
    least, most = config.get("prompt_lookup_min"), config.get("prompt_lookup_max")
    low, high = (least.integer() if least else None), (most.integer() if most else None)
    if least is not None and most is not None and low is not None and high is not None and low > high:
        yield _bound(least, most, f"prompt_lookup_min {low}", f"prompt_lookup_max {high}")
    if node.switch("async-scheduling") and method(node) in _ASYNC_REFUSED and ASYNC_DRAFTS.holds(target):
        yield Conflict(
            node.named("async-scheduling")[-1].origin,
            f"--async-scheduling cannot be combined with {method(node)} drafting",
            f"--async-scheduling 不能与 {method(node)} 草稿同时使用",
            _place(config, "method").origin,
        )


def _bound(one: Node, other: Node, shown: str, limit: str) -> Conflict:
    return Conflict(
        one.origin,
        f"{shown} is above {limit}: the engine refuses this",
        f"{shown} 大于 {limit}：引擎会拒绝",
        other.origin,
        Msg(f"write at most the value of {limit}", f"请写不超过 {limit} 的值"),
    )


def _context(node: NodeLaunch) -> Iterator[Conflict]:
    """Without a prefill context of its own, decode context parallelism divides the tensor-parallel ranks."""
    written, tensor = node.value("decode-context-parallel-size"), node.tensor
    size = written.integer() if written else None
    if written is None or size is None or size < 1 or tensor is None or node.prefill_context != 1:
        return
    if tensor % size:
        yield Conflict(
            written.origin,
            f"tensor-parallel size {tensor} is not a multiple of decode context parallel size {size}",
            f"张量并行大小 {tensor} 不是解码上下文并行大小 {size} 的倍数",
            None,
            Msg(f"write a divisor of {tensor}", f"写 {tensor} 的约数"),
        )


def _machines(node: NodeLaunch) -> Iterator[Conflict]:
    written, world, data = node.value("nnodes"), node.world_size, node.data
    machines = written.integer() if written else None
    if written is None or machines is None or machines < 2 or world is None or data is None:
        return
    ranks = world * data
    if ranks % machines:
        yield Conflict(
            written.origin,
            f"{ranks} ranks cannot be spread evenly over {machines} machines",
            f"{ranks} 个 rank 不能平均分到 {machines} 台机器",
            None,
            Msg("choose --nnodes so that it divides DP × PP × TP × PCP", "让 --nnodes 整除 DP × PP × TP × PCP"),
        )


def _supervised(node: NodeLaunch, target: Target) -> Iterator[Conflict]:
    if not node.switch("data-parallel-multi-port-external-lb") or node.partial or not MULTI_PORT.holds(target):
        return
    name = "data-parallel-multi-port-external-lb"
    data, local = node.number("data-parallel-size", 1), node.number("data-parallel-size-local", 0)
    if data is not None and data < 2:
        yield _needs(node, name, "--data-parallel-size of 2 or more")
    elif local is not None and local < 2:
        yield _needs(node, name, "--data-parallel-size-local of 2 or more")


def _experts(node: NodeLaunch) -> Iterator[Conflict]:
    config = node.value("eplb-config")
    extra = config.get("num_redundant_experts") if config is not None else None
    if extra is not None and (extra.integer() or 0) > 0 and _is_off(node, "enable-eplb"):
        yield Conflict(
            extra.key or extra.origin,
            "num_redundant_experts needs --enable-eplb: the engine refuses it on its own",
            "num_redundant_experts 需要同时写 --enable-eplb：单独写会被引擎拒绝",
            None,
            Msg("add --enable-eplb, or leave it out", "加上 --enable-eplb，或去掉它"),
        )


def _is_off(node: NodeLaunch, name: str) -> bool:
    return not node.partial and not node.switch(name)


def _adapters(node: NodeLaunch) -> Iterator[Conflict]:
    most, held = node.value("max-loras"), node.value("max-cpu-loras")
    high, low = node.number("max-loras", 1), held.integer() if held else None
    # Without a number above 0 the engine takes --max-loras.
    if node.switch("enable-lora") and held is not None and low is not None and high is not None and 0 < low < high:
        yield Conflict(
            held.origin,
            f"--max-cpu-loras {low} is below --max-loras {high}: the engine refuses this",
            f"--max-cpu-loras {low} 小于 --max-loras {high}：引擎会拒绝",
            most.origin if most else None,
            Msg(f"write {high} or more", f"写 {high} 或更大"),
        )


def _profiler(node: NodeLaunch) -> Iterator[Conflict]:
    config = node.value("profiler-config")
    kind = config.get("profiler") if config is not None else None
    if config is not None and kind is not None and kind.value == "torch" and not config.get("torch_profiler_dir"):
        yield Conflict(
            kind.origin,
            "the torch profiler needs torch_profiler_dir: the engine refuses it on its own",
            "torch profiler 需要同时写 torch_profiler_dir：单独写会被引擎拒绝",
            None,
            Msg('write "torch_profiler_dir": "/absolute/path"', '写 "torch_profiler_dir": "/绝对路径"'),
        )


def _whitespace(node: NodeLaunch) -> Iterator[Conflict]:
    config = node.value("structured-outputs-config")
    wish = config.get("disable_any_whitespace") if config is not None else None
    backend = config.get("backend") if config is not None else None
    if wish is None or wish.value is not True or (backend is not None and backend.string() is None):
        return
    chosen = backend.value if backend is not None else "auto"
    if chosen not in ("xgrammar", "guidance"):
        yield Conflict(
            wish.key or wish.origin,
            f"disable_any_whitespace works with xgrammar and guidance only, not with {chosen}",
            f"disable_any_whitespace 只能与 xgrammar 或 guidance 一起使用，不能用于 {chosen}",
            backend.origin if backend is not None else None,
            Msg('write "backend": "xgrammar" or "guidance"', '写 "backend": "xgrammar" 或 "guidance"'),
        )


def _encoder(node: NodeLaunch) -> Iterator[Conflict]:
    config = node.value("ec-transfer-config")
    name = config.get("ec_connector") if config is not None else None
    if config is not None and name is not None and name.string() and not config.get("ec_role"):
        yield Conflict(
            name.origin,
            "an encoder cache connector needs ec_role: the engine refuses it on its own",
            "编码器缓存连接器需要同时写 ec_role：单独写会被引擎拒绝",
            None,
            Msg(
                'write "ec_role": "ec_producer", "ec_consumer" or "ec_both"',
                '写 "ec_role": "ec_producer"、"ec_consumer" 或 "ec_both"',
            ),
        )
