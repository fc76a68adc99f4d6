"""docker run and docker exec: what they say of the container, and the command inside."""

from __future__ import annotations

import pytest
from reading import at, deployment, flag, launch, value, variables

from pd_launch.launcher.check.run import check
from pd_launch.launcher.sources.read import read_texts
from pd_launch.schemas.core.launch import Container

IMAGE = "quay.io/ascend/vllm-ascend:v0.25.1rc1"
SERVE = "vllm serve /models/m --port 8100"


def container(options: str, command: str = SERVE, image: str = IMAGE) -> Container:
    node, _ = launch(f"docker run {options} {image} {command}\n")
    assert node.container is not None
    return node.container


def test_values_and_places_of_a_long_command() -> None:
    node, found = launch(
        "#!/bin/bash\n"
        "docker run --rm \\\n"
        "  --name decode \\\n"
        "  --shm-size=1024g --net=host \\\n"
        "  -e HCCL_IF_IP=192.0.2.21 \\\n"
        "  --device /dev/davinci0 --device=/dev/davinci1 \\\n"
        "  -v /models:/models:ro \\\n"
        f"  {IMAGE} \\\n"
        "  vllm serve /models/m --tensor-parallel-size 2 \\\n"
        '    --kv-transfer-config \'{"kv_role": "kv_consumer"}\'\n'
    )
    box = node.container
    assert box is not None and node.form == "docker"
    assert (box.name, box.host_network, box.partial, box.privileged) == ("decode", True, False, False)
    assert box.shm_size is not None and at(found, box.shm_size.origin) == (4, "1024g")
    assert box.image is not None and at(found, box.image.origin) == (8, IMAGE)
    assert [at(found, d.origin) for d in box.devices] == [(6, "/dev/davinci0"), (6, "/dev/davinci1")]
    assert [at(found, m.origin) for m in box.mounts] == [(7, "/models:/models:ro")]
    assert node.env["HCCL_IF_IP"].how == "docker"
    assert at(found, node.env["HCCL_IF_IP"].value.origin) == (5, "192.0.2.21")
    assert node.model is not None and at(found, node.model.origin) == (9, "/models/m")
    assert at(found, flag(node, "tensor-parallel-size").origin) == (9, "2")
    assert node.kv_transfer is not None
    assert at(found, node.kv_transfer.value["kv_role"].origin) == (10, '"kv_consumer"')


@pytest.mark.parametrize(
    "options",
    [
        "--shm-size 16g",
        "--shm-size=16g",
        "-it --rm --shm-size 16g",
        "-itd --privileged --shm-size=16g",
        "-d -P --init --shm-size=16g --ulimit memlock=-1 --cap-add SYS_PTRACE",
        "-diP --security-opt seccomp=unconfined --shm-size=16g --restart always -w /work -u root --pids-limit -1",
        "--shm-size=16g --log-driver none --hostname me -h me --workdir=/x --label a=b --add-host a:1.2.3.4",
        "--tmpfs /dev/shm:rw,size=16g",
    ],
)
def test_every_form_of_options_leaves_the_image_and_command(options: str) -> None:
    box = container(options)
    assert box.image is not None and box.image.value == IMAGE
    assert box.shm_size is not None and box.shm_size.value == "16g"


@pytest.mark.parametrize("form", ["-e A=b", "-eA=b", "--env A=b", "--env=A=b", "-e 'A=b'", '-e A="b"'])
def test_forms_of_a_variable(form: str) -> None:
    node, _ = launch(f"docker run {form} {IMAGE} {SERVE}\n")
    assert variables(node) == {"A": "b"}


def test_a_variable_that_is_handed_through_is_unknown() -> None:
    node, _ = launch(f"docker run -e TOKEN {IMAGE} {SERVE}\n")
    assert variables(node) == {"TOKEN": None}


def test_what_the_shell_exports_does_not_reach_the_container() -> None:
    node, _ = launch(f"export HCCL_BUFFSIZE=200\ndocker run {IMAGE} {SERVE}\n")
    assert variables(node) == {}


def test_mounts_by_both_options() -> None:
    box = container("-v /a:/b --mount type=bind,source=/c,target=/d --mount type=bind,src=/e,dst=/f --volume=/g:/h:ro")
    assert [m.value for m in box.mounts] == ["/a:/b", "/c:/d", "/e:/f", "/g:/h:ro"]


@pytest.mark.parametrize("option", ["--ipc=host", "--ipc host", "-v /dev/shm:/dev/shm", "--tmpfs /dev/shm"])
def test_shared_memory_that_is_not_this_containers(option: str) -> None:
    assert container(option).shm_shared is not None
    assert container("--ipc=private").shm_shared is None


@pytest.mark.parametrize(
    ("option", "network"),
    [("--net=host", True), ("--network host", True), ("--network pd", False), ("", None), ("--net=$NET", None)],
)
def test_network(option: str, network: bool | None) -> None:
    assert container(option).host_network is network


def test_memory_ports_runtime_and_gpus() -> None:
    box = container("-m 64g -p 8000:8000 --publish 36000-36007:36000-36007 --runtime ascend --gpus all")
    assert box.memory is not None and box.memory.value == "64g"
    assert [p.value for p in box.published] == ["8000:8000", "36000-36007:36000-36007"]
    assert box.runtime == "ascend" and box.resources["nvidia.com/gpu"].value == "all"


@pytest.mark.parametrize(
    ("option", "privileged"), [("--privileged", True), ("--privileged=true", True), ("--privileged=false", False)]
)
def test_privileged(option: str, privileged: bool) -> None:
    assert container(option).privileged is privileged


def test_unknown_words_may_be_options() -> None:
    assert container("$DEVICES --net=host").partial
    assert not container('--name "$NAME"').partial


def test_an_array_of_options_is_followed() -> None:
    node, found = launch(f'ARGS=(--net=host\n  --shm-size=8g)\ndocker run "${{ARGS[@]}}" {IMAGE} {SERVE}\n')
    assert node.container is not None and node.container.host_network and not node.container.partial
    assert node.container.shm_size is not None and at(found, node.container.shm_size.origin) == (2, "8g")


@pytest.mark.parametrize(
    "program", ["docker", "sudo docker", "/usr/bin/docker", "podman", "nerdctl", "docker container"]
)
def test_programs_that_run_containers(program: str) -> None:
    node, _ = launch(f"{program} run --net=host {IMAGE} {SERVE}\n")
    assert node.form == "docker" and node.container is not None


def test_a_container_without_an_engine_is_a_known_form() -> None:
    found = deployment({"run.sh": f"docker run --net=host -it {IMAGE} bash\n", "serve.sh": f"{SERVE}\n"})
    assert len(found.nodes) == 1
    assert found.forms >= {"docker"} and not found.faults


def test_an_engine_in_another_file_is_in_the_only_container() -> None:
    found = deployment({"run.sh": f"docker run --shm-size=1g -it {IMAGE} bash\n", "serve.sh": f"{SERVE}\n"})
    container = found.nodes[0].container
    assert container is not None and container.shm_size is not None and container.shm_size.value == "1g"
    assert found.target.vllm_ascend == "0.25.1rc1"  # the image's


def test_a_container_that_names_a_script_holds_its_engine_alone() -> None:
    run = f"docker run --shm-size=1g {IMAGE} bash /work/a.sh\ndocker run --shm-size=2g {IMAGE} bash /work/b.sh\n"
    found = deployment({"run.sh": run, "a.sh": f"{SERVE}\n", "b.sh": f"{SERVE}\n", "c.sh": f"{SERVE}\n"})
    sizes = {n.origin.file: n.container and n.container.shm_size and n.container.shm_size.value for n in found.nodes}
    assert sizes == {"a.sh": "1g", "b.sh": "2g", "c.sh": None}


@pytest.mark.parametrize(
    "command",
    [
        'bash -c "vllm serve /models/m --port 8100"',
        "/bin/bash -lc 'export A=1; vllm serve /models/m --port 8100'",
        "bash -c 'cd /x && exec vllm serve /models/m --port 8100'",
    ],
)
def test_scripts_inside_the_container(command: str) -> None:
    node, found = launch(f"docker run --net=host {IMAGE} {command}\n")
    assert node.container is not None and value(node, "port") == "8100"
    assert at(found, flag(node, "port").origin) == (1, "8100")


def test_the_images_own_entry_point() -> None:
    node, _ = launch("docker run --gpus all vllm/vllm-openai:v0.32.0 --model Qwen/Qwen3-8B --port 8100\n")
    assert node.model is not None and node.model.value == "Qwen/Qwen3-8B" and value(node, "port") == "8100"
    node, _ = launch("docker run --entrypoint vllm vllm/vllm-openai:v0.32.0 serve Qwen/Qwen3-8B --port 8100\n")
    assert node.model is not None and node.model.value == "Qwen/Qwen3-8B"


def test_exec_in_a_container_that_was_started_before() -> None:
    node, found = launch(
        f"docker run -d --name pd --shm-size=8g -e A=1 -e B=1 {IMAGE} sleep infinity\n"
        "docker exec -d -e B=2 pd bash -c 'export C=3; vllm serve /models/m --port 8100'\n"
    )
    assert node.container is not None and node.container.name == "pd"
    assert node.container.shm_size is not None and at(found, node.container.shm_size.origin) == (1, "8g")
    assert variables(node) == {"A": "1", "B": "2", "C": "3"}
    assert at(found, flag(node, "port").origin) == (2, "8100")


def test_exec_in_an_unknown_container_is_partial() -> None:
    node, _ = launch("docker exec -it other vllm serve /models/m\n")
    assert node.container is not None and node.container.partial


def test_exec_reads_a_here_document() -> None:
    node, found = launch("docker exec -i pd bash <<'EOF'\nexport A=1\nvllm serve /models/m --port 8100\nEOF\n")
    assert variables(node) == {"A": "1"} and at(found, flag(node, "port").origin) == (3, "8100")


def test_two_containers_are_two_nodes_with_their_own_facts() -> None:
    found = deployment(
        {"both.sh": f"docker run --shm-size=1g {IMAGE} {SERVE} &\ndocker run --shm-size=2g {IMAGE} {SERVE}\n"}
    )
    sizes = [node.container.shm_size for node in found.nodes if node.container]
    assert [size.value for size in sizes if size] == ["1g", "2g"]


@pytest.mark.parametrize(("name", "side"), [("pds-prefill", "prefill"), ("kv_consumer_0", "decode"), ("vllm", None)])
def test_a_containers_name_may_speak_of_a_side(name: str, side: str | None) -> None:
    node, _ = launch(f"docker run --name {name} {IMAGE} {SERVE}\n")
    assert node.side == side


def test_a_script_in_a_container_has_the_variables_that_it_is_given() -> None:
    node, _ = launch(f"docker run -e TP=4 -e PORT {IMAGE} bash -c 'vllm serve m -tp $TP --port ${{PORT:-8000}}'\n")
    assert value(node, "tensor-parallel-size") == "4"
    assert not flag(node, "port").known


EITHER = """\
docker run --rm -it --net=host --shm-size=8g --device /dev/davinci0 --device /dev/davinci1 \\
  --device /dev/davinci_manager --device /dev/devmm_svm --device /dev/hisi_hdc \\
  -v /usr/local/Ascend/driver:/usr/local/Ascend/driver -v /usr/local/dcmi:/usr/local/dcmi \\
  -v /etc/ascend_install.info:/etc/ascend_install.info \\
  quay.io/ascend/vllm-ascend:v0.26.0rc1 bash
if [ "$1" = small ]; then
  vllm serve /models/m --tensor-parallel-size 2
else
  vllm serve /models/n --tensor-parallel-size 2
fi
"""


@pytest.mark.parametrize(("other", "said"), [("2", False), ("4", True), ("2 --data-parallel-size 2", True)])
def test_engines_of_which_one_runs_are_not_added_up(other: str, said: bool) -> None:
    text = EITHER.replace("/models/n --tensor-parallel-size 2", f"/models/n --tensor-parallel-size {other}")
    found = check(read_texts({"a.sh": text}, target="0.26.0rc1"))
    assert ("PD801" in {finding.code for finding in found}) == said


def test_engines_that_follow_each_other_are_not_added_up() -> None:
    text = EITHER.partition("if [")[0] + "vllm serve /models/m -tp 2\nvllm serve /models/n -tp 2\n"
    assert "PD801" not in {finding.code for finding in check(read_texts({"a.sh": text}, target="0.26.0rc1"))}
