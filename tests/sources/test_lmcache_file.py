"""The file of LMCache's options that an engine is given, wherever it is written."""

from __future__ import annotations

import pytest

from pd_launch.launcher.sources.read import read_texts
from pd_launch.schemas.core.launch import NodeLaunch

SERVE = "vllm serve m\n"


def _nodes(text: str, **more: str) -> list[NodeLaunch]:
    found = [node for deployment in read_texts({"run.sh": text, **more}) for node in deployment.nodes]
    assert found
    return found


def _size(node: NodeLaunch) -> object:
    value = node.lmcache.get("chunk_size") if node.lmcache is not None else None
    return None if value is None else value.value


def _written(size: object, file: str = "l.yaml", end: str = "E") -> str:
    return f"cat > {file} <<{end}\nchunk_size: {size}\nE\n"


def test_each_engine_has_what_was_written_before_it() -> None:
    given = "export LMCACHE_CONFIG_FILE=l.yaml\n"
    nodes = _nodes(given + _written(1) + "vllm serve a &\n" + _written(2) + "vllm serve b &\n")
    assert [_size(node) for node in nodes] == [1, 2]


@pytest.mark.parametrize("path", ["l.yaml", "./l.yaml", "a/../l.yaml", "/config/l.yaml"])
def test_paths(path: str) -> None:
    [node] = _nodes(_written(7) + f"LMCACHE_CONFIG_FILE={path} {SERVE}")
    assert _size(node) == 7


@pytest.mark.parametrize("path", ["other.yaml", "$FILE", "''"])
def test_another_file(path: str) -> None:
    [node] = _nodes(_written(7) + f"LMCACHE_CONFIG_FILE={path} {SERVE}")
    assert node.lmcache is None


def test_shell_variables_in_it() -> None:
    [node] = _nodes("N=9\n" + _written("$N") + f"LMCACHE_CONFIG_FILE=l.yaml {SERVE}")
    assert _size(node) == 9
    [node] = _nodes("N=9\n" + _written("$N", end="'E'") + f"LMCACHE_CONFIG_FILE=l.yaml {SERVE}")
    assert _size(node) == "$N"


def test_place() -> None:
    [node] = _nodes(_written(7) + f"LMCACHE_CONFIG_FILE=l.yaml {SERVE}")
    assert node.lmcache is not None
    [(_, value)] = node.lmcache.items()
    place = value.origin
    assert (place.file, place.line, place.column) == ("run.sh", 2, 13)


def test_a_file_of_the_call() -> None:
    [node] = _nodes(f"LMCACHE_CONFIG_FILE=/etc/l.yaml {SERVE}", **{"l.yaml": "chunk_size: 3\n"})
    assert _size(node) == 3
    assert node.lmcache is not None and node.lmcache.origin.file == "l.yaml"


def test_a_file_that_is_no_yaml() -> None:
    [node] = _nodes(f"LMCACHE_CONFIG_FILE=/etc/l.yaml {SERVE}", **{"l.yaml": "a: [\n"})
    assert _size(node) is None


def test_a_file_of_a_compose_file() -> None:
    text = (
        "services:\n  decode:\n    image: vllm/vllm-openai:v0.32.0\n    command: [--model, m]\n"
        "    environment: {LMCACHE_CONFIG_FILE: /l.yaml}\n    configs: [{source: l, target: /l.yaml}]\n"
        "configs:\n  l:\n    content: |\n      chunk_size: 5\n"
    )
    [node] = [node for deployment in read_texts({"compose.yaml": text}) for node in deployment.nodes]
    assert _size(node) == 5
