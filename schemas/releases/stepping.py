"""In what the schedulers of vLLM's releases differ where it decides who is preempted and who is admitted."""

from __future__ import annotations

from pd_launch.schemas.releases.facts import Code, vllm

_SCHEDULER = "vllm/v1/core/sched/scheduler.py"

HOLDING_FIRST = vllm(
    "holders-wait-first", "0.31.0", None,
    "waiting requests that hold KV blocks have a separate queue, which is drained first",
    Code(_SCHEDULER, r"self\.kv_holding_waiting = "),
)  # fmt: skip
VICTIMS_WAIT = vllm(
    "victims-in-flight-wait", "0.30.0", None,
    "a victim whose last step is still under way is not preempted where freeing its blocks would have to wait",
    Code(_SCHEDULER, r"if not self\._request_blocks_can_be_freed\(preempted_req\)"),
)  # fmt: skip
LONE_UNLIMITED = vllm(
    "lone-prefill-unlimited", "0.31.0", None, "the long-prefill threshold does not apply to a request that runs alone",
    Code(_SCHEDULER, r"if num_eligible_reqs > 1"),
)  # fmt: skip
SELF_PREEMPTED_GOES_ON = vllm(
    "self-preempted-goes-on", "0.33.0", None,
    "under the priority policy, a request that preempts itself does not end the step for those after it",
    Code(
        _SCHEDULER,
        r"self\.policy == SchedulingPolicy\.PRIORITY\s{1,40}and request\.status == RequestStatus\.PREEMPTED",
    ),
)  # fmt: skip
RESERVES_FULL = vllm(
    "admission-reserves-full-length", "0.19.0", None,
    "a request is admitted only where its whole present length fits (scheduler_reserve_full_isl)",
    Code(_SCHEDULER, r"self\.scheduler_reserve_full_isl = "),
)  # fmt: skip
WATERMARK = vllm(
    "admission-watermark", "0.24.0", None, "--watermark keeps a share of the blocks free at admissions",
    Code("vllm/v1/core/kv_cache_manager.py", r"self\.watermark_blocks = "),
)  # fmt: skip
ASYNC_DEFAULT = vllm(
    "asynchronous-by-default", None, None, "steps are scheduled ahead unless something forbids it",
    Code("vllm/config/vllm.py", r"self\.scheduler_config\.async_scheduling = True"),
)  # fmt: skip
WINDOW_TAILS = vllm(
    "window-tails-where-prompts-end", "0.30.0", None,
    "of a sliding window the prefix cache keeps by default only what is in sight where a prompt ends",
    Code("vllm/config/cache.py", r"prefix_cache_retention_interval: int \| None = Field\(default=0"),
)  # fmt: skip
PADS_LONE = vllm(
    "drafts-fill-lone-steps", "0.30.0", None,
    "a request that comes in with one token to compute gets drafts beside it where no other runs, too",
    Code(_SCHEDULER, r"and \(scheduled_running_reqs or num_computed_tokens > 0\)"),
)  # fmt: skip
RESERVES_DRAFTS = vllm(
    "restores-leave-room-for-drafts", "0.31.0", None,
    "an asynchronous load leaves room for one step with its drafts",
    Code(_SCHEDULER, r"\+ self\._spec_decode_step_blocks"),
)  # fmt: skip
SETTLES_DRAFTS = vllm(
    "drafts-cached-when-proved", "0.33.0", None,
    "what drafts prove is offered to the prefix cache with the step's results, with synchronous scheduling too",
    Code(_SCHEDULER, r"has_output_placeholders or self\.num_spec_tokens > 0"),
)  # fmt: skip
DEFERS_FREES = vllm(
    "frees-wait-for-steps", "0.24.0", None,
    "beside a connector that fills blocks, blocks that a step under way writes are freed after it",
    Code(_SCHEDULER, r"self\.defer_block_free = "),
)  # fmt: skip
COMPARED = ("0.27.1", "0.32.0", "0.33.0")
"""Releases whose own scheduler the simulator was compared with, step by step (tests/sim/test_exact.py)."""
