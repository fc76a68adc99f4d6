"""Formats of vllm-ascend's releases, which cannot be run here: from their sources and guides."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.logs.lines import NEW, OLD, SCHEDULER, args, connector, line, log, parked, report, restored, skipped, start

STARTED = "init engine (profile, create kv cache, warmup model) took 9.5 s"
RENAMED = (
    f"{NEW}: role=WORKER, per_rank_bytes=17179869184, world_size=8, host_memory_ratio=1.0",
    "PreemptOffloadWorker scaffold registered 61 unique KV tensors (0 Mamba Conv tensors), allocating 1024 CPU blocks "
    "(16.00 GB).",
    f"{NEW}: role=SCHEDULER, per_rank_bytes=17179869184, world_size=8, host_memory_ratio=1.0",
    "PreemptOffloadScheduler: allocating 1024 CPU blocks (16.00 GB) for preempt offload, prefix caching=False",
    STARTED,
)


@pytest.mark.parametrize("prefix", ["", "[RecomputeScheduler] "])
def test_healthy_up_to_0_27(prefix: str) -> None:
    found = report(log(*start(), SCHEDULER, *connector(), *parked("cmpl-1", prefix), restored("cmpl-1")))
    assert (found.verdict, found.status, found.problems) == ("healthy", 0, [])
    assert found.counts is not None and found.connector is not None and found.scheduler is not None
    assert (found.counts.preempted, found.counts.parked, found.counts.restored) == (1, 1, 1)
    assert found.recomputed is not None and found.recomputed.at_most == 0
    assert (found.connector.origin, found.connector.blocks, found.connector.world_size) == ("builtin", 1024, 8)
    assert found.connector.per_rank_bytes == 16 * 2**30
    assert found.scheduler.recompute and found.ascend


def test_healthy_after_the_rename() -> None:
    found = report(log(*start("0.28.0", name=NEW, nested=True), SCHEDULER, *RENAMED, *parked("r", word="preempt"),
                       restored("r", "preempt")))  # fmt: skip
    assert (found.verdict, found.problems) == ("healthy", [])
    assert found.connector is not None and found.connector.name == NEW
    assert found.connector.per_rank_bytes == 17179869184
    assert found.counts is not None and found.counts.restored == 1


def test_idle() -> None:
    assert report(log(*start(), SCHEDULER, *connector())).verdict == "idle"


def test_a_restore_may_be_missing_when_the_log_ends() -> None:
    found = report(log(*start(), SCHEDULER, *connector(), *parked("r")))
    assert found.verdict == "healthy" and found.counts is not None and found.counts.parked_now == 1
    assert "1 still parked" in found.reason


@pytest.mark.parametrize("word", ["recompute", "preempt"])
def test_full_pool_is_a_fallback_that_ends_the_request(word: str) -> None:
    before = (*start(), SCHEDULER, *(connector() if word == "recompute" else RENAMED))
    found = report(log(*before, *skipped("r", word=word)))
    assert (found.verdict, found.status) == ("fallbacks", 1)
    assert found.counts is not None
    assert (found.counts.preempted, found.counts.fallbacks, found.counts.handed_back) == (1, {"pool_full": 1}, 1)
    assert [p.code for p in found.problems] == ["PD304", "PD607"]
    assert found.recomputed is not None and found.recomputed.at_most is None  # the prompt is computed again, too
    need = (1024 + 8) * 16 * 2**20
    assert str(-(-need // 2**30) * 2**30) in found.problems[0].help


@pytest.mark.parametrize("word", ["recompute", "preempt"])
def test_tokens_of_a_request_that_was_ended_are_no_bound(word: str) -> None:
    """The proxy sends it again, and then its prompt is computed again, too."""
    before = (*start(), SCHEDULER, *(connector() if word == "recompute" else RENAMED))
    skip, *rest = skipped("r", word=word)
    told = (skip[0], f"{skip[1]} computed_tokens=1300")
    off = log(*before).replace("'block_size': 128", "'block_size': 128, 'enable_prefix_caching': False")
    found = report(off + log(told, *rest)).recomputed
    assert found is not None and (found.at_least, found.at_most) == (1300, None)
    waits = report(off + log(told)).recomputed
    assert waits is not None and (waits.at_least, waits.at_most) == (1300, 1300)


def test_a_log_of_both_forms_of_the_line() -> None:
    """After an upgrade one log may hold lines with and without tokens; blocks bound those without."""
    lines = [
        ("WARNING", "Skip recompute offload for request a: CPU cache has 0 free blocks, but 5 are needed; it will be"),
        ("WARNING", "Skip recompute offload for request b: CPU cache has 0 free blocks, but 5 are needed; "
         "computed_tokens=600 will be recomputed."),
    ]  # fmt: skip
    found = report(log(*start(), SCHEDULER, *connector(), *lines)).recomputed
    assert found is not None
    assert (found.at_least, found.at_most, found.requests_unknown) == (0, 600 + 5 * 128, 2)


def test_a_window_that_is_gone_is_not_a_full_pool() -> None:
    line = (
        "WARNING",
        "Skip recompute offload for request a: CPU cache has 10 free blocks and 1 would be taken, but blocks that an "
        "attention window looks at were gone; computed_tokens=12 will be recomputed",
    )
    found = report(log(*start(), SCHEDULER, *connector(), line))
    assert found.counts is not None and found.counts.fallbacks == {"window": 1}
    assert found.recomputed is not None and found.recomputed.at_most == 12


def test_fallback_without_a_reason_in_the_log() -> None:
    found = report(log(*start(), SCHEDULER, *connector(), *skipped("r")[1:]))
    assert found.counts is not None and found.counts.fallbacks == {"not_offloaded": 1}
    assert (found.counts.preempted, found.counts.handed_back) == (1, 1)


@pytest.mark.parametrize("prefix", ["", "[RecomputeScheduler] "])
def test_before_the_hook_every_preempted_request_is_handed_back(prefix: str) -> None:
    text = log(
        args(name="none"),
        "Initializing a V1 LLM engine (v0.22.1) with config: model='/models/m'",
        SCHEDULER,
        STARTED,
        ("WARNING", f"{prefix}Recompute triggered for request a."),
        ("WARNING", f"{prefix}Recompute triggered for request b."),
    )
    found = report(text)
    assert (found.verdict, found.status) == ("inactive", 1)
    assert found.counts is not None and found.counts.handed_back == 2
    assert [p.code for p in found.problems] == ["PD109", "PD109", "PD607"]
    assert "RecomputeCPUOffloadConnector" in found.problems[0].help


def test_a_preempted_request_comes_back_under_its_id() -> None:
    found = report(log(*start(), SCHEDULER, *connector(), *skipped("r"), *parked("r"), restored("r"), *parked("r")))
    assert found.counts is not None
    assert (found.counts.preempted, found.counts.parked, found.counts.restored) == (3, 2, 1)
    assert found.requests[0].handed_back and found.requests[0].preemptions == 3


def test_connector_without_the_recompute_scheduler() -> None:
    found = report(log(*start(on=False), *connector()))
    assert (found.verdict, found.status) == ("inactive", 1)
    assert found.problems[0].code == "PD104" and "recompute_scheduler_enable" in found.problems[0].help


def test_flag_set_but_another_scheduler_selected() -> None:
    other = ("WARNING", "Using custom scheduler class my.Scheduler. This scheduler interface is not public")
    found = report(log(*start(), other, *connector()))
    assert found.verdict == "inactive"
    assert [p.code for p in found.problems] == ["PD104", "PD106"]
    assert "my.Scheduler" in found.problems[1].message


def test_one_block_is_none() -> None:
    found = report(log(*start(), SCHEDULER, *connector(blocks=1)))
    assert found.verdict == "inactive" and [p.code for p in found.problems] == ["PD304"]
    assert report(log(*start(), SCHEDULER, *connector(blocks=2))).verdict == "idle"


def test_our_connector_under_a_role_that_ascend_does_not_call() -> None:
    message = "RecomputeCPUOffloadConnector does nothing with kv_role kv_both: preempted requests are recomputed. Set"
    found = report(log(*start(role="kv_both"), ("WARNING", message), STARTED))
    assert found.verdict == "inactive" and found.problems[0].code == "PD105"


def test_our_connector_without_a_pool_to_watch() -> None:
    message = "RecomputeCPUOffloadConnector: this scheduler shows no block pool with reset_prefix_cache, so stale KV"
    ours = (
        f"{OLD}: role=SCHEDULER per_rank=16.00 GB world_size=8 kv_role=kv_consumer enable_offload_prefix_caching=False"
    )
    found = report(log(*start(), SCHEDULER, ours, STARTED, ("WARNING", message)))
    assert found.verdict == "inactive" and found.problems[0].code == "PD106"


ERRORS = {
    "PD102": [
        "ValueError: recompute_scheduler_enable can only be enabled in PD-disaggregated mode",
        "ValueError: recompute_scheduler_enable can only be enabled on PD-disaggregated D nodes (kv_role='kv_consumer'"
        ", but got kv_role=kv_both)",
    ],
    "PD201": ["ValueError: Unsupported connector type: RecomputeCPUOffloadConnector"],
    "PD202": [
        "ModuleNotFoundError: No module named 'pd_launch'",
        "ValueError: Connector MyConnector is not registered",
    ],
    "PD205": [
        "AssertionError: Hybrid models do not support recompute mode kv load failure policy now.",
    ],
    "PD007": [
        "ValueError: enable_offload_prefix_caching must be a boolean, got 'false'",
        "ValueError: offload_host_memory_ratio must be a positive finite number",
        "ValueError: effective per-rank CPU offload memory must be positive",
        "ValueError: invalid literal for int() with base 10: '16GiB'",
        "ValueError: additional_config.scheduler_config must be a dict",
    ],
    "PD207": ["ValueError: KV transfer 'decode' config has a conflicting data parallel size"],
    "PD208": ["ValueError: prefill_tp_size 4 must be greater than or equal to the decode tp size 8"],
    "PD210": ["UnsupportedError: preemption offload works with --decode-context-parallel-size 1 only, got 8"],
    "PD211": ["UnsupportedError: KV cache groups of type MambaSpec cannot be offloaded (full attention can)"],
    "PD306": ["RuntimeError: Insufficient space in /dev/shm"],
    "PD407": ["OSError: [Errno 98] Address already in use"],
    "PD903": [
        "RuntimeError: Failed to prepare recompute H2D load after KV block allocation: req_id=r",
        "RuntimeError: Recompute H2D block mapping is incomplete: req_id=r, gpu_blocks=1, cpu_blocks=2",
        "RuntimeError: Recompute H2D KV group count mismatch: req_id=r",
        "RuntimeError: Recompute H2D produced an empty block range: req_id=r",
        "RuntimeError: Invalid recompute H2D Mamba block mapping",
    ],
}


@pytest.mark.parametrize(("code", "text"), [(code, text) for code, texts in ERRORS.items() for text in texts])
@pytest.mark.parametrize("raw", [False, True], ids=["logged", "traceback"])
def test_errors(code: str, text: str, raw: bool) -> None:
    before = log(*start())
    found = report(before + (f"{text}\n" if raw else line(text, "ERROR")))
    assert (found.verdict, found.status) == ("errors", 1)
    assert [p.code for p in found.problems] == [code]
    assert found.problems[0].line == before.count("\n") + 1
    assert found.problems[0].text.strip() == text


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("PD004", "vllm serve: error: unrecognized arguments: --max-nums-seqs 8"),
        (
            "PD001",
            "api_server.py: error: argument --kv-transfer-config: Value {'a':} cannot be converted to <function x>.",
        ),
        (
            "PD407",
            "ERROR:    [Errno 98] error while attempting to bind on address ('0.0.0.0', 8000): address already in use",
        ),
    ],
)
def test_errors_before_the_engine(code: str, text: str) -> None:
    found = report(f"{text}\n")
    assert found.verdict == "errors" and [p.code for p in found.problems] == [code]


WARNINGS = {
    "PD103": "additional_config.recompute_scheduler_enable is deprecated and ignored because scheduler_config has it",
    "PD102": "recompute_scheduler_enable is ignored on PD-disaggregated P nodes, using the default scheduler",
    "PD211": "Turning off hybrid kv cache manager because some connector does not support it",
    "PD708": "Force freed expired request r",
    "PD216": "Detected prefix caching disabled, disabling CPU offload since it requires prefix caching.",
}


@pytest.mark.parametrize("code", WARNINGS)
def test_warnings_that_matter(code: str) -> None:
    text = WARNINGS[code]
    message = text if code != "PD103" else text.removeprefix("additional_config.")
    found = report(log(*start(), SCHEDULER, *connector(), ("WARNING", message)))
    assert found.verdict == "idle"
    assert [(p.code, p.severity) for p in found.problems] == [(code, "warning")]
    assert found.problems[0].help


@pytest.mark.parametrize(
    "text",
    [
        "additional_config.recompute_scheduler_enable is deprecated; use additional_config.scheduler_config instead",
        "cpu_bytes_to_use_per_rank (16.00 GB) != cpu_bytes_to_use/world_size (1.00 GB). Using per-rank value.",
        "Initializing KVConnectorBase_V1. This API is experimental and subject to change",
    ],
)
def test_warnings_that_mean_nothing(text: str) -> None:
    found = report(log(*start(), SCHEDULER, *connector(), ("WARNING", text), ("WARNING", text)))
    assert found.verdict == "idle" and found.problems == []
    assert [p.count for p in found.benign] == [2]


def test_simple_cpu_offload_is_not_taken_for_ours() -> None:
    text = log(
        "non-default args: {'kv_transfer_config': KVTransferConfig(kv_connector='SimpleCPUOffloadConnector', "
        "kv_role='kv_both')}",
        "Initializing a V1 LLM engine (v0.32.0) with config: model='m'",
        "SimpleCPUOffloadConnector: role=SCHEDULER, per_rank=8.00 GB, world_size=1, mode=eager",
        "SimpleCPUOffloadWorker scaffold registered 4 unique KV tensors, allocating 12 CPU blocks (8.00 GB).",
        STARTED,
    )
    found = report(text)
    assert found.verdict == "inactive" and found.connector is not None and not found.connector.created


DOCUMENTED = Path(__file__).parent / "documented"


@pytest.mark.parametrize(
    ("name", "parked", "fallbacks", "handed_back"),
    [
        ("aborted", 1, {"aborted": 1, "not_offloaded": 1, "raised": 1}, 0),
        ("handed_back", 1, {"aborted": 1, "not_offloaded": 1, "raised": 1}, 1),
        ("only_failures", 0, {"aborted": 1, "not_offloaded": 1, "raised": 1}, 0),
    ],
)
def test_lines_of_the_scheduler_from_0_28(name: str, parked: int, fallbacks: dict[str, int], handed_back: int) -> None:
    """Written from the format strings of core/recompute_scheduler.py at 0.30.0rc2."""
    found = report((DOCUMENTED / f"0.30.0rc2-{name}.log").read_text(encoding="utf-8"))
    assert (found.verdict, found.status) == ("fallbacks", 1)
    assert found.counts is not None
    assert (found.counts.preempted, found.counts.parked, found.counts.restored) == (3 + parked, parked, parked)
    assert (found.counts.fallbacks, found.counts.handed_back, found.counts.aborted) == (fallbacks, handed_back, 1)
    assert ("PD110", "error") in [(p.code, p.severity) for p in found.problems]
    assert {r.id: (r.fallbacks, r.aborted) for r in found.requests if r.aborted} == {"d": (["aborted"], True)}


def test_a_request_that_raised_and_was_aborted_is_one() -> None:
    asked = "request_id=r, num_computed_tokens=4096"
    found = report(
        log(
            *start("0.30.0", name=NEW, nested=True),
            SCHEDULER,
            *RENAMED,
            ("WARNING", f"KV offload raised before decode-side preemption; sending the request back to P: {asked}"),
            ("ERROR", f"KV offload failed with fine-grained TP enabled; aborting the request instead: {asked}"),
        )
    )
    assert found.counts is not None and found.recomputed is not None
    assert (found.counts.preempted, found.counts.fallbacks, found.counts.aborted) == (1, {"raised": 1}, 1)
    assert found.recomputed.requests_unknown == 0


def test_a_full_pool_is_why_the_scheduler_says_unavailable() -> None:
    skip = skipped("r", word="preempt")[0]
    after = (
        "WARNING",
        "KV offload was unavailable or failed before decode-side preemption; sending the request back to P for "
        "recomputation: request_id=r, num_computed_tokens=1300",
    )
    back = ("WARNING", "Recompute triggered for request r.")
    found = report(log(*start("0.28.0", name=NEW, nested=True), SCHEDULER, *RENAMED, skip, after, back))
    assert found.counts is not None
    assert (found.counts.preempted, found.counts.fallbacks, found.counts.handed_back) == (1, {"pool_full": 1}, 1)
