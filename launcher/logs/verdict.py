"""From what a log says to a verdict: is preemption offload active and healthy, and if not, what to change."""

from __future__ import annotations

from dataclasses import field

from pd_launch.launcher.logs.collect import EngineFacts
from pd_launch.launcher.verdicts.counts import IDLE, Tally, budget_advice, fallback_troubles, of_counts
from pd_launch.launcher.verdicts.table import VERDICTS, Severity, Status, Trouble
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.record import dataclass
from pd_launch.schemas.core.units import counted
from pd_launch.schemas.core.words import agreeing
from pd_launch.schemas.logs import Verdict
from pd_launch.schemas.releases.features import RENAMED
from pd_launch.schemas.releases.schedulers import NESTED

_NAMES = f"RecomputeCPUOffloadConnector (PreemptOffloadConnector from vllm-ascend {RENAMED.first})"


@dataclass
class Judgement:
    """The verdict on one engine, why, and what is wrong."""

    verdict: Verdict
    reason: Msg
    troubles: list[Trouble] = field(default_factory=list)
    benign: list[Trouble] = field(default_factory=list)

    @property
    def status(self) -> Status:
        """The exit status that goes with the verdict."""
        return VERDICTS[self.verdict].status


def judge(engine: EngineFacts) -> Judgement:
    """Return the verdict on an engine."""
    noticed, benign = _noticed(engine)
    troubles = [*_deaths(engine, noticed), *noticed]
    lost = _fallbacks(engine)
    if any(t.severity == "error" for t in troubles):
        return Judgement("errors", _error_reason(engine), troubles + lost, benign)
    idle = _inactive(engine)
    if idle is not None:
        reason, why = idle
        return Judgement("inactive", reason, [*why, *troubles, *lost], benign)
    troubles += _doubts(engine)
    totals = engine.book.totals
    tally = Tally(
        totals.preempted, totals.parked, totals.restored, totals.fallbacks, waiting := totals.parked - totals.restored
    )
    still = Msg(
        f"; {waiting} still parked, or ended while parked, when the log ends",
        f"；日志结束时还有 {waiting} 个暂存中（或暂存时已结束）",
    )
    verdict, reason = of_counts(tally, _idle(engine), still)
    return Judgement(verdict, reason, lost + troubles, benign)


def _idle(engine: EngineFacts) -> Msg:
    if engine.preemptions:
        return Msg(
            f"preemption offload is active; the engine counts {counted(engine.preemptions, 'preemption')}, but the "
            "log has no line about it (is the log level above INFO?)",
            f"抢占卸载已启用；引擎统计到 {engine.preemptions} 次抢占，但日志没有相应的行（日志级别是否高于 INFO？）",
        )
    return IDLE


def _noticed(engine: EngineFacts) -> tuple[list[Trouble], list[Trouble]]:
    troubles: list[Trouble] = []
    benign: list[Trouble] = []
    for seen in engine.notices.values():
        notice = seen.notice
        severity: Severity = "info" if notice.weight == "benign" else notice.weight
        trouble = Trouble(notice.code, severity, notice.message, notice.help, seen.line, seen.count, seen.text)
        (benign if notice.weight == "benign" else troubles).append(trouble)
    return sorted(troubles, key=lambda t: t.severity != "error"), benign


def _deaths(engine: EngineFacts, noticed: list[Trouble]) -> list[Trouble]:
    """The engine's end, where no known error explains it."""
    if any(t.severity == "error" for t in noticed):
        return []
    first = engine.exceptions[0] if engine.exceptions else None
    ended = engine.died or (first is not None and not engine.started and engine.args)
    if not ended:
        return []
    line, text = first or (engine.died, "")
    en, zh = ("the engine ended", "引擎已退出") if engine.started else ("the engine did not start", "引擎没有启动")
    help_en = "see the traceback there; pd-launch check on its command may show the cause"
    return [
        Trouble(
            "", "error", Msg(en, zh), Msg(help_en, "见该处的错误栈；可用 pd-launch check 检查其命令"), line, 1, text
        )
    ]


def _error_reason(engine: EngineFacts) -> Msg:
    if engine.started:
        return Msg("the engine met an error", "引擎遇到错误")
    return Msg("the engine did not start", "引擎没有启动")


def _evidence(engine: EngineFacts) -> bool:
    """Whether something shows that the connector works, wherever the log begins."""
    totals, connector = engine.book.totals, engine.connector
    made = "SCHEDULER" in connector.sides or connector.used_most is not None or connector.blocks is not None
    return made or totals.parked > 0 or totals.restored > 0


def _inactive(engine: EngineFacts) -> tuple[Msg, list[Trouble]] | None:
    """Return why offload does nothing here, or None where it is active."""
    connector, totals = engine.connector, engine.book.totals
    if engine.role == "kv_producer":
        reason = Msg(
            "this is a prefill node's log (kv_role kv_producer): preemption offload belongs on decode nodes",
            "这是预填充节点的日志（kv_role 为 kv_producer）：抢占卸载只用在解码节点上",
        )
        return reason, []
    if connector.inert_role is not None:
        return _wrong_role(connector.inert_role)
    if connector.blind:
        return _blind()
    if totals.parked or totals.restored:
        return None
    if not _evidence(engine):
        return _no_connector(engine)
    builtin = connector.bundled is False
    if builtin and engine.args and not engine.recompute_scheduler:
        return _no_scheduler(engine)
    if builtin and connector.blocks == 1:
        return _one_block(engine)
    return None


def _wrong_role(role: str) -> tuple[Msg, list[Trouble]]:
    reason = Msg(f"the connector does nothing with kv_role {role}", f"kv_role 为 {role} 时连接器不起作用")
    help_ = Msg(
        "set the top-level kv_role to kv_consumer on decode nodes; remove the connector elsewhere",
        "解码节点顶层的 kv_role 写 kv_consumer；其他节点去掉该连接器",
    )
    return reason, [Trouble("PD105", "error", reason, help_)]


def _blind() -> tuple[Msg, list[Trouble]]:
    reason = Msg(
        "nothing is saved: this scheduler shows no block pool whose resets can be watched",
        "没有保存任何请求：从这个调度器看不到块池，无法得知前缀缓存何时重置",
    )
    help_ = Msg("use vLLM 0.23 or newer, or no custom scheduler", "使用 vLLM 0.23 及以后的版本，或不用自定义调度器")
    return reason, [Trouble("PD106", "error", reason, help_)]


def _no_connector(engine: EngineFacts) -> tuple[Msg, list[Trouble]]:
    if not (engine.args or engine.version):
        reason = Msg(
            "the log does not hold the engine's start, and nothing in it shows preemption offload",
            "日志中没有引擎的启动部分，也没有任何抢占卸载的迹象",
        )
        return reason, [
            Trouble("", "warning", reason, Msg("give the log from the engine's start", "请给出从启动开始的日志"))
        ]
    if engine.configured and not engine.started:
        reason = Msg("the log ends before the engine created its connector", "日志在引擎创建连接器之前就结束了")
        return reason, [
            Trouble("", "warning", reason, Msg("wait for the start, or give the rest", "等待启动完成，或给出其余日志"))
        ]
    reason, code = Msg("the engine has no offload connector", "引擎没有卸载连接器"), ""
    if engine.recompute_scheduler or engine.switched_on:
        code = "PD109"
    if engine.recompute_scheduler:
        reason = Msg(
            "the recompute scheduler runs without the offload connector: every preempted request ends and is "
            "handed back to the proxy",
            "重计算调度器在没有卸载连接器的情况下运行：每个被抢占的请求都会结束并交还代理",
        )
    help_ = Msg(
        f"add {_NAMES} to kv_connector_extra_config.connectors of --kv-transfer-config, with kv_role kv_consumer",
        f"在 --kv-transfer-config 的 connectors 中加入 {_NAMES}，kv_role 为 kv_consumer",
    )
    return reason, [Trouble(code, "warning", reason, help_), *_lost_scheduler(engine)]


def _lost_scheduler(engine: EngineFacts) -> list[Trouble]:
    if not engine.switched_on or engine.recompute_scheduler or not engine.engine:
        return []
    en = "recompute_scheduler_enable is set, but the recompute scheduler was not selected"
    zh = "设置了 recompute_scheduler_enable，但没有选中重计算调度器"
    if engine.scheduler:
        en, zh = f"{en}: it is {engine.scheduler}", f"{zh}：实际为 {engine.scheduler}"
    help_ = Msg(
        f"check its place (flat up to {NESTED.before}, in scheduler_config later), the role, and --scheduler-cls",
        f"检查它的位置（{NESTED.before} 及以前写在顶层，之后写在 scheduler_config 里）、角色和 --scheduler-cls",
    )
    return [Trouble("PD103" if not engine.scheduler else "PD106", "warning", Msg(en, zh), help_)]


def _no_scheduler(engine: EngineFacts) -> tuple[Msg, list[Trouble]]:
    reason = Msg(
        "vllm-ascend's offload connector is configured, but the recompute scheduler was not selected: it is "
        "never asked, and its memory is allocated for nothing",
        "配置了 vllm-ascend 的卸载连接器，但没有选中重计算调度器：连接器不会被调用，内存白白占用",
    )
    help_ = Msg(
        "set recompute_scheduler_enable: --additional-config '{\"recompute_scheduler_enable\":true}' up to "
        f"{NESTED.before}, "
        '\'{"scheduler_config":{"recompute_scheduler_enable":true}}\' from '
        f"{NESTED.first} on",
        f"打开 recompute_scheduler_enable：{NESTED.before} 及以前写 "
        "--additional-config '{\"recompute_scheduler_enable\":true}'，"
        f"{NESTED.first} 起写 "
        '\'{"scheduler_config":{"recompute_scheduler_enable":true}}\'',
    )
    found = _lost_scheduler(engine)
    return reason, [Trouble("PD104", "error", reason, help_), *found]


def _one_block(engine: EngineFacts) -> tuple[Msg, list[Trouble]]:
    reason = Msg(
        "the host pool has one block, which the null block takes: nothing can be saved",
        "主机池只有一个块，而且被空块占用：什么也存不下",
    )
    help_ = Msg(
        "raise cpu_bytes_to_use_per_rank, such as 17179869184", "增大 cpu_bytes_to_use_per_rank，例如 17179869184"
    )
    return reason, [Trouble("PD304", "error", reason, help_)]


def _doubts(engine: EngineFacts) -> list[Trouble]:
    """What is odd about an active engine."""
    return _lost_scheduler(engine) if engine.ascend else []


def _fallbacks(engine: EngineFacts) -> list[Trouble]:
    totals = engine.book.totals
    found = fallback_troubles(totals.fallbacks, _budget_help(engine))
    if totals.handed_back:
        found.append(_handed_back(totals.handed_back))
    if totals.aborted:
        found.append(_aborted(totals.aborted))
    return found


def _handed_back(count: int) -> Trouble:
    return Trouble(
        "PD607",
        "warning",
        Msg(
            f'{counted(count, "request")} {agreeing(count, "was", "were")} ended with stop_reason "recomputed": a '
            "client gets the rest only if the proxy sends such requests again",
            f"{count} 个请求以 stop_reason recomputed 结束：只有代理重新发送，客户端才能得到其余部分",
        ),
        Msg(
            "use a proxy that handles it, and offload preempted requests so that it does not happen",
            "使用能处理它的代理，并卸载被抢占的请求以避免发生",
        ),
        0,
        count,
    )


def _aborted(count: int) -> Trouble:
    return Trouble(
        "PD110",
        "error",
        Msg(
            f"{count}×: a request was aborted, and its client gets no answer: with fine-grained TP one that cannot be "
            "saved does not go back to the prefill node",
            f"{count} 次：请求被中止，客户端得不到回答：启用细粒度 TP 时，无法保存的请求不会回到预填充节点",
        ),
        Msg(
            "raise cpu_bytes_to_use_per_rank so that every preempted request is saved, or set "
            "oproj_tensor_parallel_size and mlp_tensor_parallel_size to 0",
            "增大 cpu_bytes_to_use_per_rank 以保存每个被抢占的请求，或把 oproj_tensor_parallel_size 与 "
            "mlp_tensor_parallel_size 设为 0",
        ),
        0,
        count,
    )


def _budget_help(engine: EngineFacts) -> Msg | None:
    """Say how much memory would have been enough for the worst case that the log shows."""
    connector, missing = engine.connector, engine.book.totals.most_missing
    size = connector.block_bytes
    if size is None and connector.per_rank_bytes and connector.blocks:
        size = connector.per_rank_bytes // connector.blocks
    return budget_advice(connector.blocks, missing, size)
