# pd-test: target=vllm-ascend==0.25.1rc1 severity=info line=3
vllm serve /models/m --enforce-eager \
  --cudagraph-capture-sizes 1 2 4
