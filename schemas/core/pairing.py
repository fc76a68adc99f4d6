"""Which releases the tables know, and which vLLM each vllm-ascend is built for.

Source: vllm-ascend's Dockerfile (ARG VLLM_TAG), .github/vllm-release-tag.commit and versioning policy at each tag.
Every row is a published release, and each has its table in data/ (tests/schemas/test_releases.py). 0.23.0.post1 is
0.23.0 with four files changed, none of which a rule looks at.
"""

from __future__ import annotations

ASCEND_PAIRS = {
    "0.18.0": "0.18.0",
    "0.19.1rc1": "0.19.1",
    "0.20.2rc1": "0.20.2",
    "0.21.0rc1": "0.21.0",
    "0.22.1rc1": "0.22.1",
    "0.23.0rc1": "0.23.0",
    "0.23.0": "0.23.0",
    "0.23.0.post1": "0.23.0",
    "0.24.0rc1": "0.24.0",
    "0.25.1rc1": "0.25.1",
    "0.26.0rc1": "0.26.0",
    "0.27.1rc1": "0.27.1",
    "0.28.0rc1": "0.28.0",
    "0.29.0rc1": "0.29.0",
    "0.30.0rc1": "0.30.0",
    "0.30.0rc2": "0.30.0",
}

ASCEND_COMPANIONS = {
    "0.18.0": {"cann": "8.5.1", "mooncake": "0.3.9"},
    "0.20.2rc1": {"cann": "9.0.0", "mooncake": "0.3.8.post1"},
    "0.21.0rc1": {"cann": "9.0.0", "mooncake": "0.3.9"},
    "0.22.1rc1": {"cann": "9.0.0", "mooncake": "0.3.9"},
    "0.23.0rc1": {"cann": "9.0.1", "torch_npu": "2.10.0.post2", "mooncake": "0.3.11.post1"},
    "0.23.0": {"cann": "9.1.0", "torch_npu": "2.10.0.post4", "mooncake": "0.3.11.post1"},
    "0.23.0.post1": {"cann": "9.1.0", "torch_npu": "2.10.0.post4", "mooncake": "0.3.11.post1"},
    "0.26.0rc1": {"cann": "9.1.0", "torch_npu": "2.10.0.post4", "mooncake": "0.3.11.post1"},
    "0.28.0rc1": {"cann": "9.1.0", "torch_npu": "2.10.0.post4", "mooncake": "0.3.11.post1"},
    "0.29.0rc1": {"cann": "9.1.0", "torch_npu": "2.10.0.post4", "mooncake": "0.3.11.post1"},
    "0.30.0rc1": {"torch_npu": "2.10.0.post4", "mooncake": "0.3.11.post1"},
    "0.30.0rc2": {"cann": "9.2.0", "torch_npu": "2.10.0.post4", "mooncake": "0.3.11.post1"},
}
"""What else a vllm-ascend was released with, by the names of host facts.

Source: docs/source/community/versioning_policy.md; for 0.28.0rc1, 0.29.0rc1 and 0.30.0rc2, which have no row there, the
Dockerfile (CANN_VERSION, MOONCAKE_TAG) and requirements.txt. Of 0.30.0rc1 the policy says CANN 9.2.0 and the Dockerfile
9.1.0, so neither counts.
"""

VLLM_RELEASES = [
    "0.18.0", "0.18.1", "0.19.0", "0.19.1", "0.20.0", "0.20.1", "0.20.2", "0.21.0", "0.22.0", "0.22.1", "0.23.0",
    "0.24.0", "0.25.0", "0.25.1", "0.26.0", "0.27.0", "0.27.1", "0.28.0", "0.29.0", "0.30.0", "0.31.0", "0.32.0",
    "0.33.0",
]  # fmt: skip

WRITTEN_AT = {
    "vllm": ("Dockerfile", r"^ARG VLLM_TAG=\"?v?([\w.]+)"),
    "cann": ("Dockerfile", r"(?:^ARG CANN_VERSION=\"?|^FROM \S*ascend/cann:)(\d+\.\d+\.[a-z]?[\w.]*?)(?=[-_\"\s])"),
    "torch_npu": ("requirements.txt", r"^torch-npu==([\w.]+)"),
    "mooncake": ("Dockerfile", r"^ARG MOONCAKE_TAG=\"?v?([\w.]+)"),
}
"""What goes with a vllm-ascend → the file of its source package that says it, and how."""

DOCUMENTED_ONLY = {
    ("0.21.0rc1", "vllm"): "its code asks for 0.21.0 (vllm_version_is), as the policy says",
}
"""Release and companion of which the file above says otherwise than the row, and why the row counts."""
