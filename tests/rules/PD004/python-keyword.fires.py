# pd-test: target=vllm==0.32.0 line=4
from vllm import LLM

llm = LLM(model="/models/m", max_num_seq=8)
