# pd-test: target=vllm==0.32.0
from vllm import LLM

llm = LLM(model="m", max_model_len="32768", max_num_batched_tokens=8192.0, max_num_seqs=64)
