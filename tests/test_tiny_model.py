"""The model of the cpu-tiny profile: made once, whole, the same everywhere."""

from __future__ import annotations

import importlib.util
import json
import sys
import threading
from pathlib import Path

import pytest

from pd_launch.launcher.cache import cache_root
from pd_launch.launcher.sources.profiles import tiny_model

needs_numpy = pytest.mark.skipif(importlib.util.find_spec("numpy") is None, reason="numpy is not installed")


@pytest.fixture(autouse=True)
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("PD_LAUNCH_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_cache_root_prefers_our_variable_then_xdg_then_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_root() == tmp_path / "cache"
    monkeypatch.delenv("PD_LAUNCH_CACHE")
    assert cache_root() == tmp_path / "xdg" / "pd-launch"
    monkeypatch.setenv("XDG_CACHE_HOME", "")
    assert cache_root() == tmp_path / "home" / ".cache" / "pd-launch"


def test_path_makes_nothing(cache: Path) -> None:
    assert tiny_model.tiny_model_path().parent == cache / "models"
    assert not cache.exists()


def test_importing_needs_no_numpy() -> None:
    """`check` and `--dry-run` only ask for the path, on machines without numpy."""
    source = Path(tiny_model.__file__).read_text()
    assert "numpy" not in [line.split()[1] for line in source.splitlines() if line.startswith("import ")]


def test_without_numpy_the_error_says_what_to_do(monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
    monkeypatch.setitem(sys.modules, "numpy", None)
    with pytest.raises(tiny_model.TinyModelError, match="pip install numpy"):
        tiny_model.ensure_tiny_model()
    assert list((cache / "models").iterdir()) == []  # no half-made folder is left


def test_cache_that_cannot_be_written(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("PD_LAUNCH_CACHE", str(tmp_path / "file"))
    with pytest.raises(tiny_model.TinyModelError, match="PD_LAUNCH_CACHE"):
        tiny_model.ensure_tiny_model()


def read_safetensors(path: Path) -> dict[str, tuple[list[int], bytes]]:
    data = path.read_bytes()
    start = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:start])
    assert start % 8 == 0
    return {
        name: (entry["shape"], data[start + entry["data_offsets"][0] : start + entry["data_offsets"][1]])
        for name, entry in header.items()
        if name != "__metadata__"
    }


@needs_numpy
def test_weights_fit_the_config() -> None:
    folder = tiny_model.ensure_tiny_model()
    config = json.loads((folder / "config.json").read_text())
    tensors = read_safetensors(folder / "model.safetensors")
    assert sum(len(raw) for _, raw in tensors.values()) == (folder / "model.safetensors").stat().st_size - (
        8 + int.from_bytes((folder / "model.safetensors").read_bytes()[:8], "little")
    )
    for shape, raw in tensors.values():
        size = 4
        for edge in shape:
            size *= edge
        assert len(raw) == size
    hidden, vocabulary = config["hidden_size"], config["vocab_size"]
    heads, kv_heads, width = config["num_attention_heads"], config["num_key_value_heads"], config["head_dim"]
    assert tensors["model.embed_tokens.weight"][0] == tensors["lm_head.weight"][0] == [vocabulary, hidden]
    assert tensors["model.layers.0.self_attn.q_proj.weight"][0] == [heads * width, hidden]
    assert tensors["model.layers.0.self_attn.k_proj.weight"][0] == [kv_heads * width, hidden]
    assert len([name for name in tensors if name.endswith("down_proj.weight")]) == config["num_hidden_layers"]


@needs_numpy
def test_weights_are_random_enough_to_be_chaotic() -> None:
    """With the usual deviation of 0.02 the model would repeat one token, and a wrong restore would not show."""
    import numpy as np

    raw = read_safetensors(tiny_model.ensure_tiny_model() / "model.safetensors")["lm_head.weight"][1]
    values = np.frombuffer(raw, "<f4")
    assert 0.24 < values.std() < 0.26
    assert abs(values.mean()) < 0.01


@needs_numpy
def test_same_bytes_every_time(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    first = tiny_model.ensure_tiny_model()
    monkeypatch.setenv("PD_LAUNCH_CACHE", str(tmp_path / "other"))
    second = tiny_model.ensure_tiny_model()
    assert first != second
    names = sorted(path.name for path in first.iterdir())
    assert names == sorted(path.name for path in second.iterdir())
    for name in names:
        assert (first / name).read_bytes() == (second / name).read_bytes()


@needs_numpy
def test_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tiny_model.ensure_tiny_model()
    stamp = (folder / "model.safetensors").stat().st_mtime_ns
    monkeypatch.setitem(sys.modules, "numpy", None)  # the second call needs it no more
    assert tiny_model.ensure_tiny_model() == folder
    assert (folder / "model.safetensors").stat().st_mtime_ns == stamp


@needs_numpy
def test_incomplete_folder_is_made_again() -> None:
    folder = tiny_model.ensure_tiny_model()
    (folder / "model.safetensors").unlink()
    (folder / "left-over").write_text("")
    assert tiny_model.ensure_tiny_model() == folder
    assert (folder / "model.safetensors").is_file()
    assert [path.name for path in folder.parent.iterdir()] == [folder.name]
    assert not (folder / "left-over").exists()


@needs_numpy
def test_many_at_once_make_one() -> None:
    """Both engines of a pair start together."""
    together = threading.Barrier(4)
    errors: list[BaseException] = []

    def make() -> None:
        together.wait()
        try:
            tiny_model.ensure_tiny_model()
        except BaseException as error:  # noqa: BLE001  shown below
            errors.append(error)

    threads = [threading.Thread(target=make) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    folder = tiny_model.tiny_model_path()
    assert errors == []
    assert [path.name for path in folder.parent.iterdir()] == [folder.name]


@needs_numpy
def test_tokenizer_reads_what_it_writes() -> None:
    tokenizers = pytest.importorskip("tokenizers")
    tokenizer = tokenizers.Tokenizer.from_file(str(tiny_model.ensure_tiny_model() / "tokenizer.json"))
    assert tokenizer.encode("<3>  <511>\n<7>").ids == [3, 511, 7]
    assert tokenizer.encode("nonsense").ids == [0]
    assert tokenizer.decode([3, 511, 7]) == "<3> <511> <7>"


@needs_numpy
def test_safetensors_library_reads_it() -> None:
    library = pytest.importorskip("safetensors.numpy")
    weights = library.load_file(str(tiny_model.ensure_tiny_model() / "model.safetensors"))
    assert weights["model.norm.weight"].tolist() == [1.0] * tiny_model.HIDDEN
