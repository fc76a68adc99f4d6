"""The engine that is simulated: its launch, its log and the options of the call, in one place."""

from __future__ import annotations

from dataclasses import replace

from pd_launch.launcher.simulate.left_out import hands_back, left_out, transfers
from pd_launch.launcher.simulate.loglines import LogSize
from pd_launch.launcher.simulate.sized import Given, Sized, rules_of
from pd_launch.launcher.simulate.speculation import speculation_of
from pd_launch.schemas.core.launch import NodeLaunch
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.target import Target
from pd_launch.schemas.core.words import series
from pd_launch.schemas.engine.budget import PREFIX_CACHING
from pd_launch.schemas.engine.lengths import longest_request
from pd_launch.schemas.engine.offload import budget_of, offloads
from pd_launch.schemas.memory.cache_model import UnknownModel
from pd_launch.schemas.memory.kv_geometry import Geometry, known_geometry
from pd_launch.schemas.memory.kv_layers import KVLayoutError
from pd_launch.schemas.models.known import model_of
from pd_launch.schemas.offload.groups import Group
from pd_launch.schemas.releases.stepping import (
    ASYNC_DEFAULT,
    COMPARED,
    HOLDING_FIRST,
    RESERVES_FULL,
    WINDOW_TAILS,
)
from pd_launch.schemas.sim.shape import Engine, SimulationError

SEQS, BATCHED = 256, 2048
ASYNC_BYTES = "async_restore_bytes"
ARRIVAL_STEPS = 4


def sized(given: Given, node: NodeLaunch | None, log: LogSize | None, target: Target) -> Sized:
    """Return the engine to simulate.

    Raises:
        SimulationError: its size is not known, or it holds what cannot be played.
    """
    found = _Finder(given, node, log, target)
    return found.result()


class _Finder:
    def __init__(self, given: Given, node: NodeLaunch | None, log: LogSize | None, target: Target) -> None:
        self.given, self.node, self.log, self.target = given, node, log, target
        self.assumed: list[Msg] = []
        self.notes: list[Msg] = []

    def result(self) -> Sized:
        geometry = self._geometry()
        groups = self._groups(geometry)
        block_bytes = self.given.bytes_per_block or (geometry.block_bytes if geometry else None)
        block_bytes = block_bytes or (self.log.host_block_bytes if self.log else None)
        speculation = speculation_of(
            self.node, self.log, self.given.draft_tokens, self.given.acceptance, self.given.seed
        )
        self.assumed += speculation.assumed
        engine = Engine(
            blocks=self._blocks(groups, block_bytes),
            groups=groups,
            max_num_seqs=self._number("max-num-seqs", SEQS),
            max_num_batched_tokens=self._number("max-num-batched-tokens", BATCHED),
            max_model_len=self._longest(),
            priority=self._priority(),
            prefix_caching=self._switch("enable-prefix-caching", self.given.prefix_caching, True),
            retention=self._retention(groups),
            chunked_prefill=self._switch("enable-chunked-prefill", None, True),
            long_prefill=self._number("long-prefill-token-threshold", 0, quiet=True),
            adaptive_long_prefill=bool(self.node and self.node.switch("long-prefill-token-threshold-adaptive")),
            watermark=self._watermark(),
            reserve_full=RESERVES_FULL.holds(self.target) and not self._said_no("scheduler-reserve-full-isl"),
            asynchronous=self._asynchronous(),
            max_active_seqs=self._active(),
            receives=self._receives(),
            drafts=speculation.drafts,
            hands_back=hands_back(self.node, self.target),
            rules=rules_of(self.target),
        )
        self.notes += speculation.notes
        self._note_rest(groups)
        out = Sized(engine, self.target, block_bytes, assumed=self.assumed, not_modelled=self.notes)
        return self._with_budget(out)

    def _with_budget(self, out: Sized) -> Sized:
        offload = next(iter(offloads(self.node)), None) if self.node is not None else None
        if self.node is None or offload is None:
            return out
        budget = budget_of(self.node, offload, self.target)
        out.budget = budget.per_rank_bytes if budget is not None else None
        shared = offload.option(PREFIX_CACHING)
        out.share = shared is not None and shared.value is True
        if offload.is_builtin_offload and self.target.is_ascend:
            return replace(out, async_from=0, whole=True)
        beside = offload.option(ASYNC_BYTES)
        size = beside.integer() if beside is not None else None
        if size is not None and out.block_bytes:
            out.async_from = -(-size // out.block_bytes)
        elif beside is not None:
            out.not_modelled.append(
                Msg(
                    f"{ASYNC_BYTES}, as the bytes of a block are not known: restores take part in the steps",
                    f"{ASYNC_BYTES}：每块字节数未知，按恢复在步内进行处理",
                )
            )
        return out

    def _number(self, flag: str, default: int, quiet: bool = False) -> int:
        name = flag.replace("-", "_")
        if (own := getattr(self.given, name)) is not None:
            return int(own)
        if self.log is not None and name in self.log.numbers:
            return self.log.numbers[name]
        written = self.node.number(flag, 0) if self.node is not None and self.node.arg(flag) is not None else None
        if written is not None and written > 0:
            return written
        if not quiet:
            self.assumed.append(
                Msg(
                    f"--{flag} {default} (vLLM's default on devices below 70 GiB; not given in the input)",
                    f"--{flag} {default}（vLLM 在 70 GiB 以下设备上的默认值；输入中没有写）",
                )
            )
        return default

    def _switch(self, flag: str, own: bool | None, default: bool) -> bool:
        if own is not None:
            return own
        name = flag.replace("-", "_")
        if self.log is not None and name in self.log.switches:
            return self.log.switches[name]
        said = self.node.switch(flag) if self.node is not None else None
        return default if said is None else said

    def _said_no(self, flag: str) -> bool:
        return self.node is not None and self.node.switch(flag) is False

    def _asynchronous(self) -> bool:
        name = "async-scheduling"
        said = self.given.async_scheduling
        if said is None and self.log is not None:
            said = self.log.switches.get("async_scheduling")
        if said is None and self.node is not None:
            said = self.node.switch(name)
        if said is not None:
            return said
        default = ASYNC_DEFAULT.holds(self.target)
        on, off = ("--async-scheduling", "--no-async-scheduling")
        self.assumed.append(
            Msg(
                f"{on if default else off} (the release's default; a CPU backend is never asynchronous)",
                f"{on if default else off}（该版本的默认值；CPU 后端从不异步）",
            )
        )
        return default

    def _priority(self) -> bool:
        if self.given.priority is not None:
            return self.given.priority
        if self.log is not None and self.log.priority is not None:
            return self.log.priority
        value = self.node.value("scheduling-policy") if self.node is not None else None
        return value is not None and value.string() == "priority"

    def _watermark(self) -> float:
        if self.given.watermark is not None:
            return self.given.watermark
        if self.log is not None and self.log.watermark is not None:
            return self.log.watermark
        value = self.node.value("watermark") if self.node is not None else None
        try:
            return min(max(float(str(value.value)), 0.0), 1.0) if value is not None and value.known else 0.0
        except ValueError:
            return 0.0

    def _active(self) -> int | None:
        return (self.node.number("max-num-active-seqs", 0) or None) if self.node is not None else None

    def _receives(self) -> int | None:
        """Return the steps that the KV of a prompt takes to a decode node; None where prompts are computed here."""
        given = self.given.arrival_steps
        if given is not None:
            return given or None
        if self.node is None or self.node.role != "kv_consumer" or not transfers(self.node):
            return None
        self.assumed.append(
            Msg(
                f"KV from prefill nodes arrives within {ARRIVAL_STEPS} steps (--arrival-steps)",
                f"预填充节点的 KV 在 {ARRIVAL_STEPS} 步内到达（--arrival-steps）",
            )
        )
        return ARRIVAL_STEPS

    def _longest(self) -> int:
        if self.given.max_model_len:
            return self.given.max_model_len
        if self.log is not None and "max_model_len" in self.log.numbers:
            return self.log.numbers["max_model_len"]
        longest = longest_request(self.node, model_of(self.node)) if self.node is not None else None
        return longest or 2**31

    def _geometry(self) -> Geometry | None:
        if self.node is None:
            return None
        try:
            return known_geometry(self.node, model_of(self.node), self.target)
        except (UnknownModel, KVLayoutError):
            return None

    def _groups(self, geometry: Geometry | None) -> tuple[Group, ...]:
        own = self.given.block_size or (self.log.numbers.get("block_size") if self.log else None)
        layout = geometry.layout if geometry is not None else None
        if layout is None:
            size = own or (geometry.block_tokens if geometry else None)
            if size is None and self.node is not None:
                size = self.node.number("block-size", 0) or None
            if size is None:
                size = 128 if self.target.is_ascend else 16
                self.assumed.append(
                    Msg(f"blocks of {size} tokens (not given in the input)", f"每块 {size} 个 token（输入中没有写）")
                )
            self.notes.append(
                Msg(
                    ("the model's KV cache groups: the model is unknown, and one group with full attention is assumed"),
                    "模型的 KV 缓存分组：模型未知，按一个全注意力组计算",
                )
            )
            return (Group(size),)
        if any(group.kind == "state" for group in layout.groups):
            raise SimulationError(
                "this model keeps states (Mamba, linear attention), whose blocks the simulator does not play"
            )
        return tuple(
            Group(own if own and len(layout.groups) == 1 else group.tokens, group.window or None)
            for group in layout.groups
        )

    def _retention(self, groups: tuple[Group, ...]) -> int | None:
        if all(group.window is None for group in groups):
            return None
        return 0 if WINDOW_TAILS.holds(self.target) else None

    def _blocks(self, groups: tuple[Group, ...], block_bytes: int | None) -> int:
        given = self.given.blocks
        if given is not None:
            return given
        if self.log is not None and self.log.blocks:
            return self.log.blocks
        if self.log is not None and self.log.cache_tokens and len(groups) == 1:
            return self.log.cache_tokens // groups[0].block_size
        written = self.node.number("num-gpu-blocks-override", 0) if self.node is not None else None
        if written:
            return written
        memory = self.given.memory
        if memory is None and self.node is not None:
            memory = self.node.number("kv-cache-memory-bytes", 0) or None
        if memory is not None and block_bytes is not None:
            return memory // block_bytes
        if memory is not None:
            raise SimulationError(
                "how many blocks --memory holds is not known, as the model is not: give --blocks, or --bytes-per-block"
            )
        if self.log is not None:
            raise SimulationError(
                "the log does not say how many KV blocks the engine has: give --blocks (num_gpu_blocks of the engine)"
            )
        raise SimulationError(
            "the engine's size is not known: give --blocks N (its num_gpu_blocks), --log FILE, or --memory SIZE of one "
            "rank's KV cache"
        )

    def _note_rest(self, groups: tuple[Group, ...]) -> None:
        """List what of the launch is not played."""
        notes = self.notes
        release = self.target.vllm
        if release not in COMPARED:
            notes.append(
                Msg(
                    (
                        f"rules of vLLM {release} that are not in the tables; compared step by step were "
                        f"{series(COMPARED).en}"
                    ),
                    f"vLLM {release} 在规则表之外的规则：逐步比对过的版本是 {series(COMPARED).zh}",
                )
            )
        if not HOLDING_FIRST.holds(self.target) and len(groups) > 1:
            notes.append(
                Msg(
                    "prefix hits of several KV groups with a connector, which this release looks up differently",
                    "有连接器时多个 KV 组的前缀命中：该版本的查找方式不同",
                )
            )
        notes += left_out(self.node, self.log, self.target)
