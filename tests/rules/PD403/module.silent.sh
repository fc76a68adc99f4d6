# pd-test: target=0.25.1rc1
python -m vllm.entrypoints.openai.api_server --model /models/deepseek-v3.1-w8a8 --headless --data-parallel-size 4 --data-parallel-size-local 2 --data-parallel-start-rank 2 --data-parallel-address 192.0.2.10 --data-parallel-rpc-port 13345
