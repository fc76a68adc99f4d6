"""What the installed vLLM makes of a whole command line: its parser, its validation and its configuration of an engine.

No model is loaded: the tiny one's configuration is all that is read. Each line is configured in a fork, because a
configuration changes what the process logs and where.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
from collections.abc import Mapping, Sequence
from enum import Enum
from operator import attrgetter
from typing import Any

from engine import parser

from pd_launch.launcher.sources.profiles.tiny_model import ensure_tiny_model


class Refused(Exception):
    """The engine refuses the command line; the message is its own."""


def configure(words: list[str], env: Mapping[str, str] | None = None, asked: Sequence[str] = ()) -> dict[str, Any]:
    """Return connector and role of the ``VllmConfig`` of the words behind ``vllm serve MODEL``.

    Args:
        words: the words.
        env: further variables.
        asked: attributes of the configuration, by their path, whose values are returned as texts.

    Raises:
        Refused: the engine does not take them.
    """
    import vllm.engine.arg_utils  # noqa: F401  once, not in each fork

    parser()
    words = ["serve", str(ensure_tiny_model()), "--skip-tokenizer-init", *words]
    reading, writing = os.pipe()
    if (child := os.fork()) == 0:
        os.environ.update(env or {})
        with os.fdopen(writing, "w") as answer:
            json.dump(_answer(words, asked), answer)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as answer:
        text = answer.read()
    os.waitpid(child, 0)
    found: dict[str, Any] = json.loads(text)
    if "refused" in found:
        raise Refused(found["refused"])
    return found


def _answer(words: list[str], asked: Sequence[str]) -> dict[str, Any]:
    from vllm.engine.arg_utils import AsyncEngineArgs
    from vllm.usage.usage_lib import UsageContext

    top, serve = parser()
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(said):
            options = top.parse_args(words)
            serve.validate(options)
            options.model = getattr(options, "model_tag", None) or options.model
            made = AsyncEngineArgs.from_cli_args(options).create_engine_config(UsageContext.OPENAI_API_SERVER)
    except SystemExit:
        return {"refused": (said.getvalue().strip().splitlines() or [""])[-1]}
    except BaseException as error:  # noqa: BLE001 - every refusal counts, whatever its type
        return {"refused": f"{type(error).__name__}: {error}"}
    transfer = made.kv_transfer_config
    if asked:
        values = {path: attrgetter(path)(made) for path in asked}
        return {path: value.name if isinstance(value, Enum) else str(value) for path, value in values.items()}
    return {} if transfer is None else {"kv_connector": transfer.kv_connector, "kv_role": transfer.kv_role}
