from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from pd_launch.connector import support
from pd_launch.connector.support import UnsupportedError, block_bytes, read_groups
from pd_launch.schemas.offload.groups import Group


def spec(name: str, **fields: Any) -> Any:
    return type(name, (), {"block_size": 32, **fields})()


def config(*specs: Any, **fields: Any) -> Any:
    return SimpleNamespace(kv_cache_groups=[SimpleNamespace(kv_cache_spec=s) for s in specs], **fields)


def vllm_config(drafts: int = 0, **parallel: int) -> Any:
    return SimpleNamespace(
        parallel_config=SimpleNamespace(**parallel),
        speculative_config=SimpleNamespace(num_speculative_tokens=drafts) if drafts else None,
    )


def test_full_and_windowed_groups_are_read() -> None:
    groups = read_groups(
        config(
            spec("FullAttentionSpec", sliding_window=128),  # a window kept in full: nothing is given up
            spec("MLAAttentionSpec"),
            spec("SlidingWindowSpec", sliding_window=128, extra_retained_tokens=3),
        ),
        vllm_config(drafts=3),
    )
    assert groups == [Group(32, None, 0, 10), Group(32, None, 0, 10), Group(32, 128, 3, 10)]


def test_a_uniform_group_is_as_its_layers() -> None:
    uniform = spec(
        "UniformTypeKVCacheSpecs", kv_cache_specs={"a": spec("MLAAttentionSpec"), "b": spec("MLAAttentionSpec")}
    )
    assert read_groups(config(uniform), vllm_config()) == [Group(32, None, 0, 4)]
    mixed = spec("UniformTypeKVCacheSpecs", kv_cache_specs={"a": spec("FullAttentionSpec"), "b": spec("MambaSpec")})
    with pytest.raises(UnsupportedError, match="type MambaSpec"):
        read_groups(config(mixed), vllm_config())


@pytest.mark.parametrize(
    "name",
    [
        "MambaSpec",
        "ChunkedLocalAttentionSpec",
        "RSWASpec",
        "CrossAttentionSpec",
        "SinkFullAttentionSpec",
        "SomethingNew",
    ],
)
def test_other_groups_are_refused_with_what_to_do(name: str) -> None:
    with pytest.raises(
        UnsupportedError, match=f"type {name} cannot be offloaded.*serve this model without the connector"
    ):
        read_groups(config(spec("FullAttentionSpec"), spec(name)), vllm_config())


@pytest.mark.parametrize("fields", [{"bounded_replay": True}, {"tokens_per_state": 4}])
def test_compressed_and_replayed_kv_is_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(UnsupportedError, match="compressed or replayed"):
        read_groups(config(spec("SlidingWindowMLASpec", sliding_window=8, **fields)), vllm_config())


@pytest.mark.parametrize("name", ["decode_context_parallel_size", "prefill_context_parallel_size"])
def test_context_parallelism_is_refused(name: str) -> None:
    with pytest.raises(UnsupportedError, match="remove --" + name.replace("_", "-")):
        read_groups(config(spec("FullAttentionSpec")), vllm_config(**{name: 2}))


def test_host_groups_and_models_without_cache_are_refused() -> None:
    hosted = config(spec("FullAttentionSpec"))
    hosted.kv_cache_groups[0].host_resident = True
    with pytest.raises(UnsupportedError, match="HiSparse"):
        read_groups(hosted, vllm_config())
    with pytest.raises(UnsupportedError, match="no KV cache"):
        read_groups(config(), vllm_config())


@pytest.mark.parametrize(
    "fields",
    [
        {"aux_output_config": SimpleNamespace(enabled=True)},  # 0.32.0 and later
        {"model_config": SimpleNamespace(enable_return_routed_experts=True)},  # before
    ],
)
def test_routed_experts_are_refused(fields: dict[str, Any]) -> None:
    asked = vllm_config()
    asked.__dict__.update(fields)
    with pytest.raises(UnsupportedError, match=r"--enable-return-routed-experts.*remove that flag or the connector"):
        read_groups(config(spec("FullAttentionSpec")), asked)
    for holder in fields.values():
        vars(holder).update(dict.fromkeys(vars(holder), False))
    assert read_groups(config(spec("FullAttentionSpec")), asked)


def test_where_routed_experts_are_asked_for_is_vllms() -> None:
    """A rename would let an engine start that ends at its first restore."""
    vllm = pytest.importorskip("vllm.config")
    if hasattr(vllm.VllmConfig, "aux_output_config") or "aux_output_config" in vllm.VllmConfig.__dataclass_fields__:
        from vllm.config.aux_output import AuxOutputConfig

        assert AuxOutputConfig(enable_return_routed_experts=True).enabled is True
    else:
        assert "enable_return_routed_experts" in vllm.ModelConfig.__dataclass_fields__


def test_mixed_precision_on_the_v2_runner_is_refused() -> None:
    two = vllm_config()
    two.use_v2_model_runner = True
    with pytest.raises(UnsupportedError, match="VLLM_USE_V2_MODEL_RUNNER=0"):
        read_groups(config(spec("FullAttentionSpec"), needs_kv_cache_zeroing=True), two)
    assert read_groups(config(spec("FullAttentionSpec"), needs_kv_cache_zeroing=False), two)


def test_bytes_of_a_block() -> None:
    placed = [SimpleNamespace(size=4800, layers=["a"]), SimpleNamespace(size=4800, layers=["b"])]
    assert block_bytes(SimpleNamespace(num_blocks=10, kv_cache_tensors=placed)) == 480
    shared = [SimpleNamespace(size=1000, shared_by=["a", "b"]), SimpleNamespace(size=3000, shared_by=["c"])]
    assert block_bytes(SimpleNamespace(num_blocks=10, kv_cache_tensors=shared)) == 400
    packed = [SimpleNamespace(size=9000, shared_by=[n], block_stride=900, offset=o) for n, o in (("a", 0), ("b", 450))]
    assert block_bytes(SimpleNamespace(num_blocks=10, kv_cache_tensors=packed)) == 900


def test_every_kind_of_cache_of_this_vllm_is_served_or_refused() -> None:
    """The names are vLLM's: one that is renamed must show here and not as a refusal in somebody's start."""
    kinds = pytest.importorskip("vllm.v1.kv_cache_interface")
    names = {name for name, kind in vars(kinds).items() if isinstance(kind, type) and name.endswith("Spec")}
    served = set(support.FULL + support.WINDOWED) - {"AscendMLAAttentionSpec"}
    assert served - {"SlidingWindowMLASpec"} <= names
    for name in names - served - {"KVCacheSpec", "AttentionSpec", "KVCacheGroupSpec"}:
        with pytest.raises(UnsupportedError, match="without the connector"):
            read_groups(config(spec(name)), vllm_config())
