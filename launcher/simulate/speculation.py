"""Speculative decoding of what is simulated: how many drafts a step has, and how many of them are right."""

from __future__ import annotations

from pd_launch.launcher.simulate.loglines import LogSize
from pd_launch.schemas.core.launch import NodeLaunch
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.record import dataclass
from pd_launch.schemas.engine.speculation import method, speculative_tokens
from pd_launch.schemas.sim.drafts import Drafts, chance_of

_NO_SLOTS = ("ngram", "ngram_gpu", "suffix", "medusa", "mlp_speculator")
"""Methods whose drafter keeps no KV of its own. Source: VllmConfig.num_lookahead_tokens at 0.32.0."""
_ONE_MORE = ("dflash",)
_TAKE_SLOTS = ("draft_model", "dflash", "dspark")
"""Methods whose drafter takes room of a step for every request."""


@dataclass(frozen=True)
class Speculation:
    """Drafts to play, and what is to be said of them."""

    drafts: Drafts | None = None
    assumed: tuple[Msg, ...] = ()
    notes: tuple[Msg, ...] = ()


def speculation_of(
    node: NodeLaunch | None, log: LogSize | None, tokens: int | None, rate: float | None, seed: int
) -> Speculation:
    """Return the drafts of an engine.

    Args:
        node: its launch.
        log: its log, which may say how many drafts were right.
        tokens: ``--draft-tokens``.
        rate: ``--acceptance``, accepted of drafted tokens.
        seed: of what is drawn.
    """
    name = (log.method if log is not None else None) or (method(node) if node is not None else None)
    count: int | None = tokens
    if count is None and log is not None:
        count = log.numbers.get("num_speculative_tokens")
    if count is None and node is not None:
        count = speculative_tokens(node)
        if count is None:
            return Speculation(notes=(_UNKNOWN,))
    if not count:
        return Speculation()
    seen = log.acceptance if log is not None else None
    share = rate if rate is not None else seen
    if share is None:
        return Speculation(notes=(_WITHOUT_RATE,))
    assumed = [] if rate is not None else [_seen(share)]
    lookahead = 0 if name in _NO_SLOTS else count + (name in _ONE_MORE)
    if name is None:
        assumed.append(_METHOD)
    drafts = Drafts(count, chance_of(share, count), lookahead, seed)
    return Speculation(drafts, tuple(assumed), tuple(_notes(name)))


def _notes(name: str | None) -> list[Msg]:
    out = []
    if name not in _NO_SLOTS:
        out.append(
            Msg(
                "that a drafter with its own KV recomputes the last block of a prefix hit",
                "有自己的 KV 的草稿模型会重新计算前缀命中的最后一块",
            )
        )
    if name in _TAKE_SLOTS:
        out.append(
            Msg(
                f"the share of a step's tokens that {name} reserves for its drafts",
                f"{name} 为草稿占用的每步 token 额度",
            )
        )
    return out


def _seen(share: float) -> Msg:
    return Msg(
        f"{100 * share:.1f} % of the draft tokens are accepted (the log's mean)",
        f"草稿 token 的接受率为 {100 * share:.1f} %（日志均值）",
    )


_UNKNOWN = Msg("speculative decoding, whose settings this input does not say", "推测解码：输入中未能确定其设置")
_WITHOUT_RATE = Msg(
    "draft tokens: every step is assumed to yield one token (--acceptance says how many are accepted)",
    "草稿 token：按每步生成一个 token 计算（用 --acceptance 给出接受率）",
)
_METHOD = Msg("the drafter keeps its own KV, as EAGLE and MTP do", "草稿模型像 EAGLE 和 MTP 那样有自己的 KV")
