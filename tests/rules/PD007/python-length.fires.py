# pd-test: target=vllm==0.32.0 line=4
from vllm import LLM

llm = LLM(model="m", max_model_len="32k")
