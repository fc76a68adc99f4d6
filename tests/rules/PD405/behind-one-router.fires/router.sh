vllm-router --vllm-pd-disaggregation --prefill http://localhost:8000 --decode http://localhost:8001 --port 30000
