"""Run by an engine's own Python: what its parser says of command lines, given as JSON, one line of JSON for each."""

from __future__ import annotations

import contextlib
import io
import json
import sys
from typing import Any


def parser() -> Any:
    """Return the parser of ``vllm`` with its subcommand ``serve``."""
    from vllm.entrypoints.cli.serve import ServeSubcommand
    from vllm.utils.argparse_utils import FlexibleArgumentParser

    top = FlexibleArgumentParser(description="vLLM CLI")
    ServeSubcommand().subparser_init(top.add_subparsers(required=False, dest="subparser"))
    return top


def main() -> None:
    """Answer with the last line of what the parser says; an empty text where it takes the words."""
    own = parser()
    for words in json.load(sys.stdin):
        said, reason = io.StringIO(), ""
        try:
            with contextlib.redirect_stderr(said), contextlib.redirect_stdout(said):
                own.parse_args(words)
        except SystemExit as stop:
            reason = "" if stop.code == 0 else (said.getvalue().strip().splitlines() or ["refused"])[-1]
        except Exception as error:  # noqa: BLE001 - every refusal counts
            reason = f"{type(error).__name__}: {error}"
        print(f"answer {json.dumps(reason)}", flush=True)


if __name__ == "__main__":
    main()
