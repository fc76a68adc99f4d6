"""The model of the ``cpu-tiny`` profile: a Llama of 3 MB with random weights, made on this machine with numpy alone.

Its greedy answers are chaotic: weights drawn with a standard deviation of 0.25, untied embeddings and float32 make most
of the tokens of an answer distinct, so that one KV block restored wrongly changes the text that follows. A tiny model
initialised the usual way repeats one token for ever, and "identical answers" would prove nothing. float32 also keeps
apart the scores of near-equal tokens, which in bfloat16 may swap between a computed and a recomputed token.
"""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import shutil
import tempfile
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pd_launch.launcher.cache import cache_root

if TYPE_CHECKING:
    import numpy as np

    Tensor = np.ndarray[Any, np.dtype[np.float32]]

FORMAT = 1  # raise it when the files change, so that a cached model of an older kind is not taken
SEED = 0
VOCAB = 512
HIDDEN = 128
INTERMEDIATE = 256
LAYERS = 4
HEADS = 4
KV_HEADS = 2
HEAD_SIZE = 32  # the smallest that vLLM's CPU attention takes
DEVIATION = 0.25
SPECIAL = {"unk_token": 0, "bos_token": 1, "eos_token": 2}


class TinyModelError(Exception):
    """The model could not be made; the text says why and what to do."""


def tiny_model_path() -> pathlib.Path:
    """Return where the model lies, or will lie once :func:`ensure_tiny_model` has made it."""
    return cache_root() / "models" / f"tiny-llama-{FORMAT}"


def ensure_tiny_model() -> pathlib.Path:
    """Return the folder of the model, making it first when it is absent or incomplete.

    The folder appears under its name only when it is complete, also when several processes make it at once.

    Raises:
        TinyModelError: numpy is missing, or the cache folder cannot be written.
    """
    target = tiny_model_path()
    if _is_complete(target):
        return target
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with _scratch_folder(target) as made:
            _write_model(made)
            _put_in_place(made, target)
    except OSError as error:
        raise TinyModelError(
            f"cannot make the model of profile cpu-tiny in {target}: {error.strerror or error}; "
            "free space there, or set PD_LAUNCH_CACHE to a folder that can be written"
        ) from error
    return target


def _is_complete(folder: pathlib.Path) -> bool:
    return all((folder / name).is_file() for name in (*_json_files(), "model.safetensors"))


@contextlib.contextmanager
def _scratch_folder(target: pathlib.Path) -> Iterator[pathlib.Path]:
    """Give a folder beside ``target``, on the same file system, so that a rename puts it in place at once."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _put_in_place(made: pathlib.Path, target: pathlib.Path) -> None:
    made.chmod(0o755)
    if target.exists() and not _is_complete(target):
        # Moved away before it is removed, so that nobody ever sees a folder half of the old and half of the new.
        with _scratch_folder(target) as discarded, contextlib.suppress(FileNotFoundError):
            target.rename(discarded / target.name)
    try:
        made.rename(target)
    except OSError:
        if not _is_complete(target):  # else another process was faster, with the same content
            raise


def _write_model(folder: pathlib.Path) -> None:
    for name, content in _json_files().items():
        (folder / name).write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    _write_safetensors(folder / "model.safetensors", _random_weights())


def _json_files() -> dict[str, dict[str, Any]]:
    names = {key: f"<{value}>" for key, value in SPECIAL.items()}
    return {
        "config.json": {
            "architectures": ["LlamaForCausalLM"],
            "model_type": "llama",
            "vocab_size": VOCAB,
            "hidden_size": HIDDEN,
            "intermediate_size": INTERMEDIATE,
            "num_hidden_layers": LAYERS,
            "num_attention_heads": HEADS,
            "num_key_value_heads": KV_HEADS,
            "head_dim": HEAD_SIZE,
            "hidden_act": "silu",
            "max_position_embeddings": 4096,
            "rms_norm_eps": 1e-6,
            "rope_theta": 10000.0,
            "initializer_range": DEVIATION,
            "tie_word_embeddings": False,
            "bos_token_id": SPECIAL["bos_token"],
            "eos_token_id": SPECIAL["eos_token"],
            "torch_dtype": "float32",
            "dtype": "float32",
        },
        "generation_config.json": {
            "bos_token_id": SPECIAL["bos_token"],
            "eos_token_id": SPECIAL["eos_token"],
            "do_sample": False,
        },
        "tokenizer_config.json": {"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": 4096, **names},
        "tokenizer.json": _tokenizer(names["unk_token"]),
    }


def _tokenizer(unknown: str) -> dict[str, Any]:
    """Token ``i`` is the word ``<i>``; words are separated by white space."""
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [{"id": i, "content": f"<{i}>", **flags} for i in SPECIAL.values()],
        "normalizer": None,
        "pre_tokenizer": {"type": "WhitespaceSplit"},
        "post_processor": None,
        "decoder": None,
        "model": {"type": "WordLevel", "vocab": {f"<{i}>": i for i in range(VOCAB)}, "unk_token": unknown},
    }


def _shapes() -> dict[str, tuple[int, ...]]:
    shapes: dict[str, tuple[int, ...]] = {"model.embed_tokens.weight": (VOCAB, HIDDEN)}
    for layer in range(LAYERS):
        at = f"model.layers.{layer}."
        shapes |= {
            at + "input_layernorm.weight": (HIDDEN,),
            at + "self_attn.q_proj.weight": (HEADS * HEAD_SIZE, HIDDEN),
            at + "self_attn.k_proj.weight": (KV_HEADS * HEAD_SIZE, HIDDEN),
            at + "self_attn.v_proj.weight": (KV_HEADS * HEAD_SIZE, HIDDEN),
            at + "self_attn.o_proj.weight": (HIDDEN, HEADS * HEAD_SIZE),
            at + "post_attention_layernorm.weight": (HIDDEN,),
            at + "mlp.gate_proj.weight": (INTERMEDIATE, HIDDEN),
            at + "mlp.up_proj.weight": (INTERMEDIATE, HIDDEN),
            at + "mlp.down_proj.weight": (HIDDEN, INTERMEDIATE),
        }
    return shapes | {"model.norm.weight": (HIDDEN,), "lm_head.weight": (VOCAB, HIDDEN)}


def _random_weights() -> dict[str, Tensor]:
    """Draw the weights from a fixed seed: ones for the norms, normal with deviation 0.25 for all else."""
    try:
        import numpy as np
    except ImportError:
        raise TinyModelError(
            "profile cpu-tiny makes its model with numpy, which is not installed here: run `pip install numpy`, "
            "or use the Python of the environment that holds vLLM"
        ) from None
    random = np.random.Generator(np.random.PCG64(SEED))
    return {
        name: np.ones(shape, np.float32)
        if len(shape) == 1
        else random.standard_normal(shape, dtype=np.float32) * np.float32(DEVIATION)
        for name, shape in _shapes().items()
    }


def _write_safetensors(path: pathlib.Path, tensors: dict[str, Tensor]) -> None:
    """Write the safetensors format: the header's length (8 bytes, little-endian), the header in JSON, the values."""
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    end = 0
    for name, tensor in tensors.items():
        start, end = end, end + tensor.nbytes
        header[name] = {"dtype": "F32", "shape": list(tensor.shape), "data_offsets": [start, end]}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)  # so that the values are aligned
    with path.open("wb") as file:
        file.write(len(text).to_bytes(8, "little"))
        file.write(text)
        for tensor in tensors.values():
            file.write(tensor.astype("<f4").tobytes())
        file.flush()
        os.fsync(file.fileno())
