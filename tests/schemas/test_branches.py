"""Which launches of one script never run together: of all at once as of each pair."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pd_launch.launcher.sources.read import read_texts
from pd_launch.schemas.core.launch import NodeLaunch
from pd_launch.schemas.core.values import Origin
from pd_launch.schemas.engine.machines import by_container
from pd_launch.schemas.engine.sides import STAGE, exclusions, exclusive, has_company, same_machine

BRANCHES = st.dictionaries(st.sampled_from([STAGE, 10, 20, 30]), st.integers(0, 2), max_size=3)
PLACES = st.tuples(st.sampled_from("ab"), st.sampled_from(["shell", "manifest"]), st.sampled_from("xy"), BRANCHES)


def _node(file: str, form: str, label: str, branches: dict[int, int]) -> NodeLaunch:
    origin = Origin(file, 1, 1, 1, 1)
    return NodeLaunch(origin=origin, form=form, label=label, branches=tuple(branches.items()))


@given(st.lists(PLACES, max_size=8))
def test_all_at_once_is_each_pair(places: list[tuple[str, str, str, dict[int, int]]]) -> None:
    nodes = [_node(*place) for place in places]
    found = exclusions(nodes)
    for one, mask in zip(nodes, found, strict=True):
        assert [bool(mask >> i & 1) for i in range(len(nodes))] == [exclusive(one, other) for other in nodes]


POD = """apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  containers:
    - name: a
      command: [bash, -c]
      args:
        - |
          vllm serve m --port 1 &
          case $1 in
            x) vllm serve m --port 2;;
            y) vllm serve m --port 3 & vllm serve m --port 4;;
          esac
"""


def test_the_choices_of_a_container() -> None:
    (deployment,) = read_texts({"a.yaml": POD})
    chosen = [[node.number("port", 0) for node in nodes] for _, nodes in by_container(deployment)]
    assert sorted(chosen) == [[1], [1, 2], [1, 3, 4]]


def test_company_is_being_in_a_pair() -> None:
    text = "case $1 in\nx) vllm serve m & ;;\ny) vllm serve m --port 3 & vllm serve m --port 4;;\nesac\n"
    (deployment,) = read_texts({"a.sh": text})
    paired = {id(node) for pair in same_machine(deployment) for node in pair}
    assert [has_company(node, deployment) for node in deployment.nodes] == [id(n) in paired for n in deployment.nodes]
    assert paired
