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


def neovim(folder: Path, driver: str) -> subprocess.CompletedProcess[str]:
    """Open the script in ``folder`` as the guide says, and do what ``driver`` does."""
    program = folder / "bin" / "pd-launch"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} -m pd_launch "$@"\n')
    program.chmod(0o755)
    folders = {name: str(folder / "xdg") for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME")}
    assert NVIM is not None
    return subprocess.run(
        [NVIM, "--headless", "-u", HERE / "init.lua", "decode.sh", "-c", f"luafile {HERE / driver}"],
        cwd=folder,
        env={
            **os.environ,
            **folders,
            "XDG_CACHE_HOME": str(folder),
            "PATH": f"{program.parent}:{os.environ['PATH']}",
            "PD_SAVE": str(HERE / "save.lua"),
        },
        capture_output=True,
        text=True,
        timeout=300,
    )


def test_neovim_shows_fixes_and_saves(tmp_path: Path) -> None:
    script = tmp_path / "decode.sh"
    script.write_text(SCRIPT.format(8000, ",", 8001, ","), encoding="utf-8")
    done = neovim(tmp_path, "drive.lua")
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


def test_neovim_fixes_before_it_saves(tmp_path: Path) -> None:
    script = tmp_path / "decode.sh"
    script.write_text(SCRIPT.format(8000, ",", 8001, ","), encoding="utf-8")
    (tmp_path / "plain.txt").write_text("no engine\n")
    done = neovim(tmp_path, "drive_save.lua")
    assert not (tmp_path / "failed.txt").exists(), (tmp_path / "failed.txt").read_text()
    assert script.read_text("utf-8") == SCRIPT.format(8000, "", 8001, ""), done.stderr
    assert (tmp_path / "plain.txt").read_text() == "no engine\n"
    assert "Error" not in done.stderr


@pytest.mark.parametrize("page", ["docs/guide/editors.md", "docs/zh/guide/editors.md"])
@pytest.mark.parametrize("configuration", ["init.lua", "save.lua"])
def test_the_guide_shows_this_configuration(page: str, configuration: str) -> None:
    assert (HERE / configuration).read_text("utf-8") in (ROOT / page).read_text("utf-8")
