"""Options of docker, podman and nerdctl: which take a value, and those that are in no table."""

from __future__ import annotations

import re
import shutil
import subprocess
from typing import Any

import pytest
from reading import deployment, launch, value, variables

from pd_launch.launcher.sources.engine.docker_options import global_takes_value, short_takes_value, takes_value

IMAGE = "docker.io/vllm/vllm-openai:v0.32.0"
ENGINE = f"{IMAGE} --model /models/m --port 8100"


def box(command: str) -> Any:
    node, _ = launch(f"{command}\n")
    assert node.container is not None and value(node, "port") == "8100"
    return node.container


@pytest.mark.parametrize(
    "options",
    [
        "--replace", "--no-hosts", "--env-host", "--rmi", "--passwd=false", "--tls-verify", "--read-only-tmpfs",
        "--http-proxy=false", "--no-hostname", "--unsetenv-all", "--tz local", "--sdnotify=conmon", "--pod p",
        "--uidmap 0:1:2", "--secret s --userns keep-id", "--rm -it", "-dit", "-itv /a:/b", "-dp 80:80", "-e=A=1",
        "--init=true", "--use-api-socket", "--device nvidia.com/gpu=all", "--init --",
    ],
)  # fmt: skip
@pytest.mark.parametrize("program", ["docker", "podman", "nerdctl"])
def test_options_before_the_image(program: str, options: str) -> None:
    found = box(f"{program} run {options} {ENGINE}")
    assert found.image.value == IMAGE and not found.partial


@pytest.mark.parametrize(
    "before",
    [
        "docker --context far", "docker -H tcp://x:1 -D", "podman --log-level debug --remote", "podman --root=/x",
        "nerdctl -n k8s.io", "nerdctl --namespace k8s.io --debug", "docker container", "podman --url x container",
    ],
)  # fmt: skip
@pytest.mark.parametrize("verb", ["run", "create"])
def test_options_before_the_verb(before: str, verb: str) -> None:
    assert box(f"{before} {verb} --name a {ENGINE}").name == "a"


@pytest.mark.parametrize(
    ("options", "image"),
    [
        ("--zzz", IMAGE),
        ("--zzz word", IMAGE),
        ("--zzz word --net host", IMAGE),
        ("--zzz --yyy word --xxx", IMAGE),
        ("--zzz=word", IMAGE),
        ("-Z word", IMAGE),
    ],
)
def test_an_option_in_no_table_hides_nothing(options: str, image: str) -> None:
    found = box(f"podman run {options} {ENGINE}")
    assert found.image.value == image


def test_of_an_option_in_no_table_both_readings_may_start_the_same() -> None:
    node, _ = launch("docker run --zzz a b vllm serve m --port 8100\n")
    assert value(node, "port") == "8100" and node.container is not None and node.container.partial


def test_many_options_in_no_table_end() -> None:
    command = "docker run " + " ".join(f"--z{number} w{number}" for number in range(200)) + f" {ENGINE}\n"
    deployment({"a.sh": command})


def test_the_latest_container_has_no_name() -> None:
    node, _ = launch("podman exec -l vllm serve m --port 8100\n")
    assert node.model is not None and node.model.value == "m"
    node, _ = launch("docker run -l vllm busybox vllm serve m\n")
    assert node.container is not None and node.container.image is not None and node.container.image.value == "busybox"


def test_variables_of_the_host_may_be_any() -> None:
    node, _ = launch(f"podman run --env-host -e A=1 {ENGINE}\n")
    assert node.env_open is not None and variables(node) == {"A": "1"}


@pytest.mark.skipif(shutil.which("docker") is None, reason="docker is not installed")
@pytest.mark.parametrize("verb", ["run", "exec", "create"])
def test_docker_says_the_same(verb: str) -> None:
    shown = subprocess.run(["docker", verb, "--help"], capture_output=True, text=True, timeout=60).stdout
    options = re.findall(r"^ {2,6}(?:-(\w), )?(--[a-z0-9-]+)(?: ([a-z0-9-]+))?", shown, re.MULTILINE)
    if not options:
        pytest.skip("docker says nothing of its options")
    for short, long, kind in options:
        assert takes_value(long) is bool(kind), long
        if short:
            assert short_takes_value(short, verb) is bool(kind), short


@pytest.mark.skipif(shutil.which("docker") is None, reason="docker is not installed")
def test_docker_says_the_same_of_options_before_the_verb() -> None:
    shown = subprocess.run(["docker", "--help"], capture_output=True, text=True, timeout=60).stdout
    options = re.findall(r"^ {2,6}(?:-(\w), )?(--[a-z0-9-]+)(?: ([a-z0-9-]+))?", shown, re.MULTILINE)
    for short, long, kind in options:
        if long != "--version":
            assert bool(global_takes_value(long)) is bool(kind), long
            assert not short or bool(global_takes_value(f"-{short}")) is bool(kind), short
