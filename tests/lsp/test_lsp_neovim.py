"""Neovim, headless: it opens a script, shows what is found, makes a quick fix and all fixes, and saves it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
NVIM = os.environ.get("PD_NVIM") or shutil.which("nvim")
JSON = """{{"kv_connector": "NixlConnector", "kv_role": "kv_both"{}}}"""
ENGINE = f"vllm serve /models/m --port {{}} --kv-transfer-config '{JSON}'"
SCRIPT = "#!/bin/bash\n# pd-launch: target vllm==0.32.0\necho 预填充 🚀; " + ENGINE + "\n" + ENGINE + "\n"

pytestmark = pytest.mark.skipif(NVIM is None, reason="there is no nvim here (scripts/setup_neovim.sh gets Debian's)")


def test_neovim_shows_fixes_and_saves(tmp_path: Path) -> None:
    script = tmp_path / "decode.sh"
    script.write_text(SCRIPT.format(8000, ",", 8001, ","), encoding="utf-8")
    program = tmp_path / "bin" / "pd-launch"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} -m pd_launch "$@"\n')
    program.chmod(0o755)
    folders = {name: str(tmp_path / "xdg") for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME")}
    assert NVIM is not None
    done = subprocess.run(
        [NVIM, "--headless", "-u", HERE / "init.lua", "decode.sh", "-c", f"luafile {HERE / 'drive.lua'}"],
        cwd=tmp_path,
        env={
            **os.environ,
            **folders,
            "XDG_CACHE_HOME": str(tmp_path),
            "PATH": f"{program.parent}:{os.environ['PATH']}",
        },
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert (tmp_path / "seen.json").exists(), done.stderr
    seen = json.loads((tmp_path / "seen.json").read_text("utf-8"))
    assert "failed" not in seen, seen
    assert [one["code"] for one in seen["opened"]] == ["PD001", "PD001"]
    first = SCRIPT.split("\n")[2].format(8000, ",")
    assert seen["opened"][0]["line"] == 2
    assert seen["opened"][0]["column"] == len(first[: first.index(",}")].encode())  # Neovim counts bytes
    assert seen["hover"].startswith("**PD001 json-syntax (error)**")
    assert [(one["code"], one["line"]) for one in seen["fixed"]] == [("PD001", 3)]
    assert seen["saved"] == []
    assert script.read_text("utf-8") == SCRIPT.format(8000, "", 8001, "")
    log = tmp_path / "nvim" / "lsp.log"
    assert not log.exists() or "Traceback" not in log.read_text("utf-8")


def test_the_guide_shows_this_configuration() -> None:
    for page in ("docs/guide/editors.md", "docs/zh/guide/editors.md"):
        assert (HERE / "init.lua").read_text("utf-8") in (ROOT / page).read_text("utf-8")
