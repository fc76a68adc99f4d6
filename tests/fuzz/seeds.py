"""Seeds of the fuzzer: every case, fixture and profile of the repository; and the input that a number stands for."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from random import Random

from mutations import mutate

ROOT = Path(__file__).resolve().parents[2]
TARGETS = (
    None,
    None,
    "0.18.0",
    "0.22.1rc1",
    "0.23.0",
    "0.25.1rc1",
    "0.27.1rc1",
    "0.28.0rc1",
    "vllm:0.20.0",
    "vllm:0.27.1",
    "vllm:0.32.0",
)
NAMES = (
    "a.sh",
    "a.yaml",
    "a.py",
    "decode.sh",
    "run_dp_template.sh",
    "config.yaml",
    "a.json",
    "a.txt",
    "compose.yml",
    "b/ü.sh",
)
HOSTS: tuple[dict[str, object] | None, ...] = (
    None,
    None,
    {
        "npus": 8,
        "mem_total": 1 << 40,
        "mem_available": 1 << 39,
        "shm_total": 1 << 26,
        "ports_in_use": [8000],
        "memlock": 65536,
    },
    {"npus": 0, "mem_total": 0, "cgroup_memory": 0, "shm_free": 0, "ports_in_use": [], "stale_shm": 1 << 60},
)


@cache
def seeds() -> list[dict[str, str]]:
    """Return the seeds: each is the files of one call."""
    found = []
    for path in sorted((ROOT / "tests" / "cases").glob("*.jsonl")):
        found += [json.loads(row)["files"] for row in path.read_text("utf-8").splitlines()]
    for path in sorted((ROOT / "tests" / "rules").glob("PD*/*.*")):
        if path.is_file() and path.suffix in (".sh", ".yaml", ".yml", ".py"):
            found.append({path.name: path.read_bytes().decode("utf-8", "replace")})
    for path in sorted((ROOT / "profiles").glob("*.yaml")):
        found.append({path.name: path.read_text("utf-8")})
    return found


def case(number: int) -> tuple[dict[str, str], str | None, dict[str, object] | None]:
    """Return input ``number``: files, target and host facts."""
    random = Random(number)
    files = dict(random.choice(seeds()))
    other = random.choice(list(random.choice(seeds()).values()))
    for name in list(files):
        if len(files) == 1 or random.random() < 0.7:
            files[name] = mutate(random, files[name], other)
    if random.random() < 0.1:
        name = random.choice(list(files))
        files = {random.choice(NAMES): files[name]}
    files = {name: text.encode("utf-8", "replace").decode("utf-8") for name, text in files.items()}
    return files, random.choice(TARGETS), random.choice(HOSTS)
