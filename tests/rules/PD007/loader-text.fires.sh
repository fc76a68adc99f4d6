# pd-test: target=vllm==0.32.0 severity=warning line=3
# the parser takes a text, no loader does
vllm serve /models/m --model-loader-extra-config x
