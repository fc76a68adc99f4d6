# pd-test: target=vllm==0.32.0
vllm serve /models/m --host 192.0.2.7 --port 8000 < /dev/null > log
