# pd-test: severity=warning line=15 target=vllm==0.22.0
from multiprocessing import Process

from vllm import LLM
from vllm.config import KVTransferConfig


def prefill():
    ktc = KVTransferConfig(kv_connector="P2pNcclConnector", kv_role="kv_producer")
    llm = LLM(model="m", kv_transfer_config=ktc)
    llm.generate(["Hello"])


def decode():
    ktc = KVTransferConfig(kv_connector="P2pNcclConnector", kv_role="kv_consumer")
    llm = LLM(model="m", kv_transfer_config=ktc)
    llm.generate(["Hello"])


Process(target=prefill).start()
Process(target=decode).start()
