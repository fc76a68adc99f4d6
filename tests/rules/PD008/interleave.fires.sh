# pd-test: target=vllm==0.32.0 severity=warning line=2
vllm serve /models/m -tp 8 --decode-context-parallel-size 8 --cp-kv-cache-interleave-size 16 --dcp-kv-cache-interleave-size 64
