"""What the installed vLLM makes of a whole command line: its parser, its validation and its configuration of an engine.

No model is loaded: the tiny one's configuration is all that is read.
"""

from __future__ import annotations

import contextlib
import io
from typing import Any

from engine import parser

from pd_launch.launcher.sources.profiles.tiny_model import ensure_tiny_model


class Refused(Exception):
    """The engine refuses the command line; the message is its own."""


def configure(words: list[str]) -> Any:
    """Return the ``VllmConfig`` of the words behind ``vllm serve MODEL``.

    Raises:
        Refused: the engine does not take them.
    """
    from vllm.engine.arg_utils import AsyncEngineArgs
    from vllm.usage.usage_lib import UsageContext

    top, serve = parser()
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(said):
            options = top.parse_args(["serve", str(ensure_tiny_model()), "--skip-tokenizer-init", *words])
            serve.validate(options)
            options.model = getattr(options, "model_tag", None) or options.model
            return AsyncEngineArgs.from_cli_args(options).create_engine_config(UsageContext.OPENAI_API_SERVER)
    except SystemExit:
        raise Refused((said.getvalue().strip().splitlines() or [""])[-1]) from None
    except Exception as error:  # noqa: BLE001 - every refusal counts, whatever its type
        raise Refused(f"{type(error).__name__}: {error}") from None
