"""Options of KServe's Hugging Face server itself, with dashes for underscores.

Sources: python/huggingfaceserver/huggingfaceserver/__main__.py and python/kserve/kserve/model_server.py in
kserve/kserve, 2026-08-21. It parses what it knows (parse_known_args) and ignores the rest.
"""

from __future__ import annotations

VALUED = frozenset(
    {"http-port", "grpc-port", "workers", "max-threads", "max-asyncio-workers", "enable-grpc", "enable-docs-url"}
    | {"enable-latency-logging", "configure-logging", "log-config-file", "access-log-format", "event-loop"}
    | {"timeout-keep-alive", "model-name", "predictor-host", "protocol", "predictor-protocol", "predictor-use-ssl"}
    | {"predictor-request-timeout-seconds", "grpc-max-send-message-length", "grpc-max-receive-message-length"}
    | {"predictor-request-retries", "model-dir", "model-id", "model-revision", "tensor-input-names", "backend"}
)
SWITCHES = frozenset(
    {"enable-predictor-health-check", "disable-lower-case", "disable-special-tokens", "return-token-type-ids"}
    | {"return-offsets-mapping", "return-probabilities", "return-raw-logits", "disable-log-requests"}
)
LENGTH = "max-length"
"""Its old name of ``--max-model-len``."""
