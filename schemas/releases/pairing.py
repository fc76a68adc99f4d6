"""Which releases the tables know, and which vLLM each vllm-ascend is built for.

Source: vllm-ascend's Dockerfile (ARG VLLM_TAG) and .github/vllm-release-tag.commit at each tag. vllm-ascend 0.28.0 stands
for the first release after pull request 16510 (renamed connector, strict additional-config); its real number is unverified.
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
    "0.24.0rc1": "0.24.0",
    "0.25.1rc1": "0.25.1",
    "0.26.0rc1": "0.26.0",
    "0.27.1rc1": "0.27.1",
    "0.28.0": "0.28.0",
}

VLLM_RELEASES = [
    "0.18.0", "0.18.1", "0.19.0", "0.19.1", "0.20.0", "0.20.1", "0.20.2", "0.21.0", "0.22.0", "0.22.1", "0.23.0",
    "0.24.0", "0.25.0", "0.25.1", "0.26.0", "0.27.0", "0.27.1", "0.28.0", "0.29.0", "0.30.0", "0.31.0", "0.32.0",
]  # fmt: skip
