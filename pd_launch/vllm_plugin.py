"""vLLM's plugin of this package: with it the connector's name alone is enough, without ``kv_connector_module_path``.

vLLM calls :func:`register` in every process that it starts (``vllm.general_plugins``), API servers included. Nothing of
ours is imported here: importing ``pd_launch.connector`` takes names over that are registered already, which is right
where a configuration asks for that module, and wrong here.
"""

from __future__ import annotations

import importlib.util
import logging
import sys
from importlib import import_module

NAME = "pd_launch"
"""The name of the entry point: what VLLM_PLUGINS has to list, where it is set."""
MODULE = "pd_launch.connector.connector"
CLASSES = ("RecomputeCPUOffloadConnector", "PreemptOffloadConnector")


def register() -> None:
    """Register the connector's names where the engine has none such. May be called again; never raises.

    vllm-ascend has connectors of these names, in some releases under one of them only: beside it nothing is done.
    """
    try:
        if "vllm_ascend" in sys.modules or importlib.util.find_spec("vllm_ascend") is not None:
            return
        factory = import_module("vllm.distributed.kv_transfer.kv_connector.factory").KVConnectorFactory
        for name in CLASSES:
            if name not in factory._registry:
                factory.register_connector(name, MODULE, name)
    except Exception as error:  # noqa: BLE001  an engine that does not use the connector must start all the same
        logging.getLogger(f"vllm.{__name__}").warning(
            "pd_launch could not register its connectors with this vLLM (%s: %s): name them with "
            'kv_connector_module_path "pd_launch.connector"',
            type(error).__name__,
            error,
        )
