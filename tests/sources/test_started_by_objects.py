"""Engines that objects of a cluster start beside a pod's own command: each is read, or said to be not."""

from __future__ import annotations

import base64

import pytest

from pd_launch.launcher.check.run import check
from pd_launch.launcher.sources.read import read_texts

LINE = "vllm serve X --tensor-parallel-sizee 8"
WORDS = "[vllm, serve, X, --tensor-parallel-sizee, '8']"
RIGHT = "apiVersion: v1\nkind: Pod\nspec: {containers: [{name: r, image: i, command: [vllm, serve, ok]}]}\n---\n"
ENCODED = base64.b64encode(f"{LINE}\n".encode()).decode()


def found(text: str, name: str = "a.yaml") -> list[tuple[str, int]]:
    """Return codes and lines of a file with an engine that is right before it."""
    return [(f.code, f.line - 4) for f in check(read_texts({name: RIGHT + text}, target="vllm:0.32.0"))]


def pod(container: str) -> str:
    return f"apiVersion: v1\nkind: Pod\nspec:\n  containers:\n  - {{name: a, image: x, {container}}}\n"


def object_of(kind: str, rest: str) -> str:
    return f"apiVersion: v1\nkind: {kind}\nmetadata: {{name: a}}\n{rest}"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (object_of("RayJob", f"spec: {{entrypoint: {LINE}}}\n"), 4),
        (object_of("RayJob", f"spec:\n  entrypoint: |\n    pip list\n    {LINE}\n"), 7),
        (object_of("Workflow", f"spec: {{templates: [{{container: {{image: x, command: {WORDS}}}}}]}}\n"), 4),
        (
            object_of(
                "Workflow",
                f"spec:\n  templates:\n  - script:\n      image: x\n      command: [bash]\n      source: {LINE}\n",
            ),
            9,
        ),
        (
            object_of(
                "Workflow",
                "spec:\n  templates:\n  - script:\n      image: x\n      command: [python3]\n      source: |\n"
                f"        import os\n        os.system('{LINE}')\n",
            ),
            11,
        ),
        (
            object_of(
                "CronWorkflow",
                f"spec: {{workflowSpec: {{templates: [{{sidecars: [{{image: x, command: {WORDS}}}]}}]}}}}\n",
            ),
            4,
        ),
        (object_of("Task", f"spec: {{steps: [{{image: x, script: {LINE}}}]}}\n"), 4),
        (object_of("Task", f"spec: {{steps: [{{image: x, command: {WORDS}}}]}}\n"), 4),
        (pod(f"command: [vllm, serve, ok, --port, '1'], startupProbe: {{exec: {{command: {WORDS}}}}}"), 5),
        (pod(f"command: [sleep], livenessProbe: {{exec: {{command: [sh, -c, '{LINE}']}}}}"), 5),
        (object_of("Secret", f"stringData:\n  start.sh: |\n    {LINE}\n"), 6),
        (object_of("ConfigMap", f"data:\n  start.py: |\n    import os\n    os.system('{LINE}')\n"), 7),
        (object_of("Model", f"spec: {{start: {LINE}}}\n"), 4),
        (object_of("Model", f"spec: {{any: {WORDS}}}\n"), 4),
    ],
)
def test_an_engine_is_read_wherever_an_object_starts_it(text: str, line: int) -> None:
    assert found(text) == [("PD004", line)]
    assert found(text.replace("--tensor-parallel-sizee", "--seed")) == []


@pytest.mark.parametrize(
    "container",
    [
        f"command: ['{LINE}']",
        f"command: {LINE}",
        "command: [vllm], args: ['serve X --tensor-parallel-sizee 8']",
        "command: [vllm serve], args: [X, --tensor-parallel-sizee, '8']",
    ],
)
def test_several_words_as_one_are_a_mistake_and_are_read_all_the_same(container: str) -> None:
    assert [code for code, _ in found(pod(container))] == ["PD003", "PD004"]


def test_a_service_of_compose_does_not_split_the_words_of_a_list() -> None:
    text = f"services:\n  a:\n    image: x\n    entrypoint: ['{LINE}']\n"
    assert [f.code for f in check(read_texts({"c.yaml": text}, target="vllm:0.32.0"))] == ["PD003", "PD004"]


@pytest.mark.parametrize(
    "container",
    [
        "command: [bash, -c, 'vllm serve X --seed 8']",
        "command: ['echo vllm serve X']",
        "command: ['/start now.sh', vllm, serve]",
        "args: ['--model X']",
    ],
)
def test_words_with_blanks_that_start_nothing_are_no_mistake(container: str) -> None:
    assert found(pod(container)) == []


@pytest.mark.parametrize(("kind", "key"), [("Secret", "data"), ("ConfigMap", "binaryData")])
def test_a_script_that_is_encoded_is_said(kind: str, key: str) -> None:
    assert found(object_of(kind, f"{key}:\n  start.sh: {ENCODED}\n")) == [("PD014", 5)]
    assert found(object_of(kind, f"{key}:\n  x: {base64.b64encode(b'nothing').decode()}\n  y: '%%%'\n")) == []


def test_a_script_of_a_secret_runs_in_the_container_that_mounts_it() -> None:
    text = object_of("Secret", f"stringData:\n  start.sh: |\n    {LINE}\n") + "---\n"
    mounts = "volumeMounts: [{name: s, mountPath: /s}]}\n  volumes: [{name: s, secret: {secretName: a}}]\n"
    text += pod("command: [bash, /s/start.sh]").rstrip()[:-1] + f", {mounts}"
    deployment = read_texts({"a.yaml": text})[0]
    assert [node.container and node.container.image and node.container.image.value for node in deployment.nodes] == [
        "x"
    ]


def test_steps_of_a_continuous_build_are_no_steps_of_a_cluster() -> None:
    job = f"jobs:\n  a:\n    container: {{image: x}}\n    steps:\n    - run: {LINE}\n"
    assert [f.code for f in check(read_texts({"a.yaml": job}, target="vllm:0.32.0"))] == ["PD004"]
