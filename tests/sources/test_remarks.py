"""What looks like a comment for pd-launch and is text says nothing; what is one in a script of its own counts."""

from __future__ import annotations

import pytest

from pd_launch.launcher.check.run import check
from pd_launch.launcher.sources.read import read_texts

WRONG = "vllm serve m --sizee 8"
IGNORE = "# pd-launch: ignore[PD004]"
TARGET = "# pd-launch: target vllm==0.20.0"


def codes(text: str, name: str = "a.sh") -> list[str]:
    found = check(read_texts({name: text}, "vllm==0.32.0"))
    return sorted({f.code for f in found if f.severity != "info"})


@pytest.mark.parametrize(
    "text",
    [
        f"echo '{IGNORE} x'; {WRONG}\n",
        f'echo "see {IGNORE} x" && {WRONG}\n',
        f"A='{IGNORE}' {WRONG}\n",
        f"{WRONG} --served-model-name '{IGNORE}'\n",
    ],
)
def test_an_ignore_in_a_text_ignores_nothing(text: str) -> None:
    assert "PD004" in codes(text)


@pytest.mark.parametrize(
    "text",
    [
        f"{WRONG} {IGNORE}\n",
        f"{WRONG} {IGNORE} it's the user's 'own'\n",
        f"echo 'a' \"b\"; {WRONG} {IGNORE}\n",
        f"echo it\\'s; {WRONG} {IGNORE} that's all\n",
        f"bash -c '{WRONG} {IGNORE}'\n",
        f"bash -c '\n{WRONG} {IGNORE}\n'\n",
        f"bash -c '\n  echo \"x\"; {WRONG} {IGNORE}\n'\n",
        f"bash <<E\n{IGNORE}\n{WRONG}\nE\n",
        f"vllm serve m --additional-config '{{\n}}' --sizee 8 {IGNORE} it's fine\n",
    ],
)
def test_an_ignore_in_a_comment_counts(text: str) -> None:
    assert "PD004" not in codes(text)


def test_an_ignore_in_a_text_of_yaml_ignores_nothing() -> None:
    args = f"[vllm, serve, m, --served-model-name, '{IGNORE}', --sizee, '8']"
    pod = "kind: Pod\napiVersion: v1\nspec:\n  containers:\n  - name: it's\n    command: "
    assert "PD004" in codes(pod + args + "\n", "a.yaml")
    assert "PD004" not in codes(pod + f"[vllm, serve, m, --sizee, '8'] {IGNORE} it's 'so'\n", "a.yaml")


@pytest.mark.parametrize(
    ("text", "release"),
    [
        (f"{TARGET}\nvllm serve m\n", "0.20.0"),
        (f"bash <<E\n{TARGET}\nvllm serve m\nE\n", "0.20.0"),
        (f"cat > run.sh <<'E'\n{TARGET}\nvllm serve m\nE\n", "0.20.0"),
        (f"{TARGET}\ncat <<E\nx\nE\nvllm serve m\n", "0.20.0"),
        (f"cat <<E\n{TARGET}\nE\nvllm serve m\n", None),
        (f"cat <<-'E' > notes\n\tuse this:\n\t{TARGET}\n\tE\nvllm serve m\n", None),
        (f"echo '{TARGET}'\nvllm serve m\n", None),
    ],
)
def test_a_target_counts_where_it_is_a_comment(text: str, release: str | None) -> None:
    (found,) = read_texts({"a.sh": text})
    decided = found.choice.decided if found.choice is not None else None
    assert (decided and decided.vllm) == release
