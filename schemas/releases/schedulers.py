"""The recompute scheduler and its neighbours: where options are read, and what is refused, per release."""

from __future__ import annotations

from pd_launch.schemas.releases.facts import Code, Fact, Generated, ascend, options, platform

_SCHEDULER = "vllm_ascend/core/recompute_scheduler.py"

HOOK = ascend(
    "preemption-hook", "0.23.0rc1", None,
    "the recompute scheduler asks a connector to save a victim's KV (pull request 10742), and the model runner calls "
    "handle_preemptions",
    Code(_SCHEDULER, r"update_state_before_preempt\b"),
    Code("vllm_ascend/worker/model_runner_v1.py", r"\bhandle_preemptions\("),
)  # fmt: skip
HOOK_CALL = ascend(
    "preemption-hook-call", "0.23.0rc1", None,
    "the hook is called with the request, its block ids and the number of computed tokens",
    Code(_SCHEDULER, r"(?s)update_state_before_preempt\b.{0,900}?\(\s*\w*req(uest)?,\s*\w*block_ids,"
         r"\s*(\w+\.)?\w*num_computed_tokens"),
)  # fmt: skip
NESTED = ascend(
    "nested-scheduler-options", "0.25.1rc1", None,
    "scheduler options are read from scheduler_config, the flat place is a deprecated fallback, and anything but an "
    "object is refused",
    options(r"additional_config\.scheduler_config must be a dict"),
)  # fmt: skip
TYPED = ascend(
    "typed-options", "0.27.1rc1", None,
    "options of additional_config have types: strings are converted, and unknown keys refused",
    options(r"extra=.forbid"),
)  # fmt: skip
PRODUCER_IGNORED = ascend(
    "recompute-ignored-on-prefill", "0.23.0rc1", None,
    "recompute_scheduler_enable is ignored with a warning on prefill nodes; before, the scheduler ran there too",
    platform(r"recompute_scheduler_enable is ignored on PD-disaggregated P nodes"),
)  # fmt: skip
SHORT_FIRST_PREFILL = ascend(
    "short-first-on-prefill-only", "0.25.1rc1", None,
    "short_request_first is a separate scheduler: refused on decode nodes and with a policy other than fcfs",
    platform(r"ShortRequestFirst scheduling is supported only on prefill"),
    platform(r"ShortRequestFirst scheduling requires scheduler_config\.policy"),
)  # fmt: skip
SHORT_FIRST_INSIDE = ascend(
    "short-first-inside-recompute", "0.24.0rc1", "0.25.1rc1",
    "short_request_first runs inside the recompute scheduler only",
    Code(_SCHEDULER, r"ShortRequestFirst"),
)  # fmt: skip
READ: dict[str, Fact] = {
    fact.name.removeprefix("reads-"): fact
    for fact in (
        ascend("reads-enable_balance_scheduling", "0.20.2rc1", None, "enable_balance_scheduling is read",
               Code("vllm_ascend/*.py vllm_ascend/patch/platform/*.py", r"\benable_balance_scheduling\b")),
        ascend("reads-short_request_first_config", "0.24.0rc1", None, "short_request_first_config is read",
               options(r"\bshort_request_first_config\b")),
        ascend("reads-profiling_chunk_config", "0.19.1rc1", None, "profiling_chunk_config is read",
               options(r"\bprofiling_chunk_config\b")),
        ascend("reads-batch_job_sched_config", "0.25.1rc1", None, "batch_job_sched_config is read",
               options(r"\bbatch_job_sched_config\b")),
        ascend("reads-dyntra_lb_config", "0.27.1rc1", None, "dyntra_lb_config is read",
               options(r"\bdyntra_lb_config\b")),
        ascend("reads-SLO_limits_for_dynamic_batch", None, "0.24.0rc1", "SLO_limits_for_dynamic_batch is read",
               Generated("additional", "SLO_limits_for_dynamic_batch")),
    )
}  # fmt: skip
"""Scheduler option → in which releases it is read."""
