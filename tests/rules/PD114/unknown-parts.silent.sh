# pd-test: target=vllm==0.32.0
# What a variable may bring is not missed.
vllm serve /models/m $MORE --enable-auto-tool-choice --enable-log-outputs --collect-detailed-traces model
