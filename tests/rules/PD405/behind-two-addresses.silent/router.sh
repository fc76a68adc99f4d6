vllm-router --vllm-pd-disaggregation --prefill http://192.0.2.1:8000 --decode http://192.0.2.2:8001 --port 30000
