"""What is simulated: the engine's limits, the offload's host memory, and how releases differ."""

from __future__ import annotations

from dataclasses import field

from pd_launch.schemas.core.record import dataclass
from pd_launch.schemas.offload.groups import Group
from pd_launch.schemas.sim.drafts import Drafts


class SimulationError(ValueError):
    """The input cannot be played; the message says what and what to change."""


class EndlessError(SimulationError):
    """The engine goes on without an end: nobody gets a token any more."""


@dataclass(frozen=True)
class Rules:
    """In what the schedulers of releases differ.

    Attributes:
        holding_first: waiting requests that hold KV blocks have a separate queue, drained first (else every request
            that was passed over once has).
        victims_wait: a victim whose last step is still under way is not preempted; the request waits a step.
        lone_unlimited: the long-prefill threshold does not apply to a request that runs alone.
        self_preempted_goes_on: under priority, a request that had to preempt itself does not end the step for those
            after it.
        pads_lone: a request that comes in with one token to compute gets drafts beside it where it runs alone too, and
            none where its room ends (else it waits there).
        defers_frees: beside a connector, blocks that a step under way writes are freed after it.
        settles_drafts: what drafts have proved is offered to the prefix cache with the step's results in synchronous
            scheduling too, and what they prove after a request's end does not count as computed.
        reserves_drafts: a restore beside the steps leaves room for a step with drafts.
    """

    holding_first: bool = True
    victims_wait: bool = True
    lone_unlimited: bool = True
    self_preempted_goes_on: bool = False
    pads_lone: bool = True
    reserves_drafts: bool = True
    settles_drafts: bool = False
    defers_frees: bool = True


@dataclass(frozen=True)
class Engine:
    """One engine as its scheduler sees it.

    Attributes:
        blocks: ``num_gpu_blocks``, the null block included.
        groups: the KV cache groups; the block size of each in tokens.
        max_num_seqs: requests that run at once.
        max_num_batched_tokens: tokens of one step.
        max_model_len: tokens of one request, prompt and output.
        priority: ``--scheduling-policy priority``; else first come, first served.
        prefix_caching: full blocks are found again by their content.
        retention: of sliding-window groups with prefix caching: None keeps every tail, 0 those where a prompt ends.
        chunked_prefill: a prompt may be cut over steps.
        long_prefill: ``--long-prefill-token-threshold``; 0 is none.
        adaptive_long_prefill: the threshold is never below a fair share of the step.
        watermark: share of the blocks that an admission leaves free while others run.
        reserve_full: a request is admitted only where its whole present length fits.
        asynchronous: the next step is scheduled while one runs.
        max_active_seqs: ``--max-num-active-seqs``; None is max_num_seqs.
        receives: a decode node: the KV of a prompt comes from elsewhere and takes so many steps, while its blocks are
            held. None: prompts are computed here.
        drafts: speculative decoding; None: none.
        hands_back: a victim whose KV is not saved ends here and comes again by way of the proxy, as vllm-ascend's
            recompute scheduler has it.
        rules: those of the release.
    """

    blocks: int
    groups: tuple[Group, ...] = (Group(16),)
    max_num_seqs: int = 256
    max_num_batched_tokens: int = 8192
    max_model_len: int = 2**31
    priority: bool = False
    prefix_caching: bool = False
    retention: int | None = None
    chunked_prefill: bool = True
    long_prefill: int = 0
    adaptive_long_prefill: bool = False
    watermark: float = 0.0
    reserve_full: bool = True
    asynchronous: bool = False
    max_active_seqs: int | None = None
    receives: int | None = None
    drafts: Drafts | None = None
    hands_back: bool = False
    rules: Rules = field(default_factory=Rules)

    @property
    def in_flight_tokens(self) -> int:
        """The most tokens that are scheduled and not settled."""
        return (2 if self.asynchronous else 1) * self.max_num_batched_tokens

    @property
    def watermark_blocks(self) -> int:
        """Blocks that an admission leaves free."""
        return int(self.watermark * self.blocks)

    def cap(self, group: Group) -> int | None:
        """The most blocks of a group that the admission of one request reserves; None where there is no limit."""
        if group.window is None:
            return None
        tokens = min(group.window - 1 + group.retained + self.in_flight_tokens, self.max_model_len)
        return -(-tokens // group.block_size) + 1


@dataclass(frozen=True)
class Offload:
    """The offload connector beside the engine.

    Attributes:
        host_blocks: blocks of host memory per rank.
        async_from: restores of at least so many blocks run beside the others' steps; None: none of them.
        share: requests that start alike share host blocks (``enable_offload_prefix_caching``).
        load_steps: steps that a restore beside the others takes.
        whole: saves a victim whole or not at all, and then hands it back where the engine does (vllm-ascend's own
            connector); else what fits is saved, and the request stays.
    """

    host_blocks: int
    async_from: int | None = None
    share: bool = False
    load_steps: int = 1
    whole: bool = False
