"""Every row of the table of combinations is found in its own example, and not in the nearest launch that is valid."""

from __future__ import annotations

import json
import shlex

import pytest

from pd_launch.launcher.check.run import run_checks
from pd_launch.launcher.rules.pd1_role.combined import found_rows
from pd_launch.launcher.sources.read import read_texts
from pd_launch.schemas.core.target import vllm_target
from pd_launch.schemas.finding import Finding
from pd_launch.schemas.releases.combinations import COMBINATIONS, Combination, Given
from pd_launch.schemas.releases.facts import rows
from tests.chinese_texts import half_width, untranslated


def kv(name: str, **options: object) -> str:
    return _object("kv-transfer-config", kv_connector=name, kv_role="kv_both", kv_connector_extra_config=options)


def ec(name: str, role: str = "ec_both", **options: object) -> str:
    return _object("ec-transfer-config", ec_connector=name, ec_role=role, ec_connector_extra_config=options)


def spec(method: str = "eagle3", **more: object) -> str:
    return _object("speculative-config", method=method, model="/models/d", num_speculative_tokens=3, **more)


def _object(flag: str, **entries: object) -> str:
    return shlex.join([f"--{flag}", json.dumps(entries)])


V1 = "VLLM_USE_V2_MODEL_RUNNER=0 "
V2 = "VLLM_USE_V2_MODEL_RUNNER=1 "
ROUTED = "--enable-return-routed-experts"
HISPARSE = kv("HiSparseConnector", host_pool_gib=10)
MOONEP = "--all2all-backend moonep"
ELASTIC = "--enable-elastic-ep --enable-eplb --enable-expert-parallel --data-parallel-size 2"
ADAPTIVE = spec(enable_adaptive_verification=True)
ALIGN = "--mamba-cache-mode align --enable-prefix-caching"
BLOCK = "--mamba-block-size 256 --max-model-len 4096"
LORAS = "VLLM_ALLOW_RUNTIME_LORA_UPDATING=1 --enable-lora"
CPU = ec("ECCPUConnector", ec_cpu_bytes=1000000)
POOL = kv("MooncakeStoreConnector", custom_mem_pool="NVLINK")
RATES = {"synthetic_acceptance_rates": [0.5, 0.4, 0.3]}
LENGTH = {"synthetic_acceptance_length": 1.5}
EXAMPLES = (
    ("routed-experts-one-stage", f"{ROUTED} --pipeline-parallel-size 2", f"{ROUTED} --pipeline-parallel-size 1"),
    (
        "routed-experts-no-context",
        f"{ROUTED} --tensor-parallel-size 4 --decode-context-parallel-size 2",
        f"{ROUTED} --tensor-parallel-size 4 --decode-context-parallel-size 1",
    ),
    (
        "routed-experts-no-context",
        f"{ROUTED} --prefill-context-parallel-size 2",
        f"{ROUTED} --prefill-context-parallel-size 1",
    ),
    ("routed-experts-no-pd", f"{ROUTED} {kv('NixlConnector')}", f"{ROUTED} {kv('LMCacheConnectorV1')}"),
    ("routed-experts-v2", f"{V1}{ROUTED}", f"{V2}{ROUTED}"),
    ("routed-experts-prefix", f"{ROUTED} --no-enable-prefix-caching", f"{ROUTED} --enable-prefix-caching"),
    (
        "async-needs-padded-drafts",
        f"--async-scheduling {spec(disable_padded_drafter_batch=True)}",
        f"--no-async-scheduling {spec(disable_padded_drafter_batch=True)}",
    ),
    ("replayssm-no-connector", f"--use-replayssm {kv('NixlConnector')}", "--use-replayssm"),
    (
        "mamba-block-needs-prefix",
        f"{BLOCK} --no-enable-prefix-caching",
        "--mamba-block-size 4096 --max-model-len 4096 --no-enable-prefix-caching",
    ),
    ("align-needs-chunked-mm", f"{ALIGN} --disable-chunked-mm-input", f"{ALIGN} --no-disable-chunked-mm-input"),
    ("hisparse-one-stage", f"{HISPARSE} --pipeline-parallel-size 2", f"{HISPARSE} --tensor-parallel-size 2"),
    (
        "hisparse-no-dcp",
        f"{HISPARSE} --tensor-parallel-size 4 --decode-context-parallel-size 2",
        f"{HISPARSE} --tensor-parallel-size 4",
    ),
    (
        "hisparse-no-full",
        f"{HISPARSE} {_object('compilation-config', cudagraph_mode='FULL')}",
        f"{HISPARSE} {_object('compilation-config', cudagraph_mode='FULL_AND_PIECEWISE')}",
    ),
    (
        "hisparse-reserves",
        f"{HISPARSE} --no-scheduler-reserve-full-isl",
        f"{HISPARSE} --scheduler-reserve-full-isl",
    ),
    ("hisparse-v2", f"{V1}{HISPARSE}", f"{V2}{HISPARSE}"),
    (
        "hisparse-hybrid",
        f"{HISPARSE} --disable-hybrid-kv-cache-manager",
        f"{HISPARSE} --no-disable-hybrid-kv-cache-manager",
    ),
    ("moonep-unquantised", f"{MOONEP} --quantization fp8", f"{MOONEP} --quantization None"),
    ("moonep-unquantised", f"{MOONEP} --dtype float16", f"{MOONEP} --dtype bfloat16"),
    (
        "moonep-no-eplb",
        f"{MOONEP} --enable-expert-parallel --enable-eplb",
        "--all2all-backend nixl_ep --enable-expert-parallel --enable-eplb",
    ),
    (
        "moonep-linear",
        f"{MOONEP} --expert-placement-strategy round_robin",
        f"{MOONEP} --expert-placement-strategy linear",
    ),
    (
        "events-published-off",
        _object("kv-events-config", publisher="zmq", enable_kv_cache_events=False),
        _object("kv-events-config", publisher="null", enable_kv_cache_events=False),
    ),
    (
        "attention-backend-once",
        f"--attention-backend FLASHINFER {_object('attention-config', backend='FLASH_ATTN')}",
        f"--attention-backend FLASHINFER {_object('attention-config', backend='auto')}",
    ),
    (
        "autotune-once",
        f"--no-enable-flashinfer-autotune {_object('kernel-config', enable_flashinfer_autotune=True)}",
        f"--no-enable-flashinfer-autotune {_object('kernel-config', enable_flashinfer_autotune=None)}",
    ),
    (
        "drafts-once",
        f"--spec-tokens 3 {spec()}",
        f"--spec-tokens 3 {_object('speculative-config', method='eagle3', model='/models/d')}",
    ),
    (
        "drafts-once",
        f"--spec-method eagle3 {spec()}",
        f"--spec-method eagle3 {_object('speculative-config', model='/models/d', num_speculative_tokens=3)}",
    ),
    (
        "drafts-once",
        f"--spec-model /models/d {spec()}",
        f"--spec-model /models/d {_object('speculative-config', method='eagle3', num_speculative_tokens=3)}",
    ),
    ("nnodes-needs-mp", "--nnodes 2 --data-parallel-backend ray", "--nnodes 1 --data-parallel-backend ray"),
    (
        "nnodes-executor",
        "--nnodes 2 --distributed-executor-backend ray",
        "--nnodes 2 --distributed-executor-backend mp",
    ),
    ("eplb-needs-experts", "--enable-eplb", "--enable-eplb --enable-expert-parallel"),
    (
        "eplb-async-communicator",
        _object("eplb-config", use_async=True, communicator="pynccl"),
        _object("eplb-config", use_async=False, communicator="pynccl"),
    ),
    ("elastic-one-stage", f"{ELASTIC} --pipeline-parallel-size 2", f"{ELASTIC} --pipeline-parallel-size 1"),
    ("elastic-own-balancer", f"{ELASTIC} --data-parallel-hybrid-lb", ELASTIC),
    ("elastic-own-balancer", f"{ELASTIC} --data-parallel-external-lb", ELASTIC),
    ("elastic-one-server", f"{ELASTIC} --api-server-count 4", f"{ELASTIC} --api-server-count 1"),
    (
        "device-ids-not-ray",
        "--device-ids 0,1 --distributed-executor-backend ray",
        "--device-ids 0,1 --distributed-executor-backend mp",
    ),
    (
        "fault-tolerance-one-server",
        "--enable-fault-tolerance --data-parallel-rank 0 --api-server-count 2",
        "--enable-fault-tolerance --data-parallel-rank 0 --api-server-count 1",
    ),
    (
        "additional-properties-guidance",
        _object("structured-outputs-config", backend="xgrammar", disable_additional_properties=True),
        _object("structured-outputs-config", backend="guidance", disable_additional_properties=True),
    ),
    (
        "pooling-type-once",
        _object("pooler-config", pooling_type="MEAN", seq_pooling_type="MEAN"),
        _object("pooler-config", pooling_type="MEAN"),
    ),
    (
        "profiler-dir-needs-torch",
        _object("profiler-config", torch_profiler_dir="/tmp/x", profiler="cuda"),
        _object("profiler-config", torch_profiler_dir="/tmp/x", profiler="torch"),
    ),
    ("rates-need-synthetic", spec(**RATES), spec(**RATES, rejection_sample_method="synthetic")),
    ("rates-need-synthetic", spec(**LENGTH), spec(**LENGTH, rejection_sample_method="synthetic")),
    (
        "synthetic-one-rate",
        spec(rejection_sample_method="synthetic"),
        spec(**LENGTH, rejection_sample_method="synthetic"),
    ),
    (
        "synthetic-one-rate",
        spec(**RATES, **LENGTH, rejection_sample_method="synthetic"),
        spec(**RATES, rejection_sample_method="synthetic"),
    ),
    ("adaptive-no-lora", f"{ADAPTIVE} --enable-lora", f"{ADAPTIVE} --no-enable-lora"),
    ("adaptive-one-stage", f"{ADAPTIVE} --pipeline-parallel-size 2", f"{ADAPTIVE} --tensor-parallel-size 2"),
    (
        "vocabulary-draft-model",
        spec(use_heterogeneous_vocab=True),
        spec("draft_model", use_heterogeneous_vocab=True),
    ),
    ("fast-prefill-no-eagle", f"--kv-sharing-fast-prefill {spec()}", f"--kv-sharing-fast-prefill {spec('suffix')}"),
    (
        "dynamic-drafts-one-rank",
        f"--data-parallel-size 2 {spec(num_speculative_tokens_per_batch_size=[[1, 8, 3]])}",
        f"--data-parallel-size 1 {spec(num_speculative_tokens_per_batch_size=[[1, 8, 3]])}",
    ),
    ("encoder-cpu-bytes", ec("ECCPUConnector"), CPU),
    ("encoder-cpu-v2", f"{V1}{CPU}", f"{V2}{CPU}"),
    (
        "encoder-mooncake-tensor",
        f"--tensor-parallel-size 2 {ec('ECMooncakeConnector', 'ec_producer')}",
        f"--tensor-parallel-size 2 {ec('ECMooncakeConnector', 'ec_consumer')}",
    ),
    (
        "encoder-mooncake-pipeline",
        f"--pipeline-parallel-size 2 {ec('ECMooncakeConnector', 'ec_producer')}",
        f"--pipeline-parallel-size 2 {ec('ECMooncakeConnector', 'ec_consumer')}",
    ),
    (
        "chunk-once",
        kv("OffloadingConnector", cpu_bytes_to_use=1000000000, block_size=64, blocks_per_chunk=4),
        kv("OffloadingConnector", cpu_bytes_to_use=1000000000, blocks_per_chunk=4),
    ),
    ("pool-not-asleep", f"{POOL} --enable-sleep-mode", f"{kv('MooncakeStoreConnector')} --enable-sleep-mode"),
    ("pool-not-asleep", f"{POOL} --enable-cumem-allocator", f"{POOL} --no-enable-cumem-allocator"),
    (
        "nixl-pcp-one-way",
        f"--prefill-context-parallel-size 2 {kv('NixlConnector', bidirectional_kv_xfer=True)}",
        f"--prefill-context-parallel-size 2 {kv('NixlConnector', bidirectional_kv_xfer=False)}",
    ),
    ("lora-updates-one-server", f"{LORAS} --api-server-count 2", f"{LORAS} --api-server-count 1"),
)
"""For every row, in the order of the table: the name of its fact, a launch that it is about, and one that is valid."""
CASES = [
    pytest.param(*pair, id=f"{index}-{pair[1][0]}")
    for index, pair in enumerate(zip(COMBINATIONS, EXAMPLES, strict=True))
]


def launch(words: str) -> str:
    return words.replace("--", "vllm serve /models/m --", 1) + "\n"


def found(words: str, release: str) -> list[Combination]:
    (deployment,) = read_texts({"serve.sh": launch(words)}, target=f"vllm=={release}")
    (node,) = deployment.nodes
    return [row for row, _, _ in found_rows(node, deployment.target)]


def of_code(row: Combination, words: str, release: str) -> list[Finding]:
    checked = run_checks(read_texts({"serve.sh": launch(words)}, target=f"vllm=={release}"))
    return [finding for finding in checked.rendered("zh") if finding.code == ("PD008" if row.idle else "PD114")]


def test_every_row_has_an_example() -> None:
    assert [row.fact.name for row in COMBINATIONS] == [name for name, _, _ in EXAMPLES]


@pytest.mark.parametrize(("row", "example"), CASES)
def test_a_row_is_found_in_its_own_releases(row: Combination, example: tuple[str, str, str]) -> None:
    _, fires, valid = example
    for release in rows("vllm"):
        assert (row in found(fires, release)) is row.fact.holds(vllm_target(release, "unknown")), release
        assert row not in found(valid, release), release


@pytest.mark.parametrize(("row", "example"), CASES)
def test_a_row_is_one_finding_more(row: Combination, example: tuple[str, str, str]) -> None:
    _, fires, valid = example
    more = of_code(row, fires, row.fact.last)
    assert len(more) > len(of_code(row, valid, row.fact.last))
    for finding in more:
        assert finding.severity == ("warning" if row.idle else "error")
        assert not half_width(finding.message) and not untranslated(finding.message)


@pytest.mark.parametrize(("row", "example"), CASES)
def test_nothing_is_found_in_words_that_are_unknown(row: Combination, example: tuple[str, str, str]) -> None:
    words = shlex.split(example[1])
    for part in (row.one, row.other):
        hidden = [_hidden(word, words[index - 1], part) for index, word in enumerate(words)]
        if any("$HIDDEN" in word for word in hidden):
            assert row not in found(" ".join(hidden), row.fact.last), hidden
        elif part.absent:
            assert row not in found(f"{example[1]} $MORE", row.fact.last)
            assert row not in found(f"{example[1]} --config elsewhere.yaml", row.fact.last)
        else:
            assert part.words in ((True,), (False,)) or not part.words


def _hidden(word: str, before: str, part: Given) -> str:
    """The word as the shell reads it, with a variable in its place where it is the value of a part."""
    flag = "kv-transfer-config" if part.connectors is not None else part.name
    if before == f"--{flag}" and not word.startswith("--"):
        return '"$HIDDEN"'
    if f"${word.partition('=')[0]}" == flag:
        return f'{word.partition("=")[0]}="$HIDDEN"'
    return shlex.quote(word)
