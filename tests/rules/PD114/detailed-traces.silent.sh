# pd-test: target=vllm==0.32.0
vllm serve /models/m --collect-detailed-traces model --otlp-traces-endpoint http://192.0.2.9:4317
