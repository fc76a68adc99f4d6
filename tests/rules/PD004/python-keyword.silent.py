# pd-test: target=vllm==0.32.0
from vllm import LLM

llm = LLM(model="/models/m", max_num_seqs=8, enable_prefix_caching=False, chat_template="x", spec_method="ngram")
