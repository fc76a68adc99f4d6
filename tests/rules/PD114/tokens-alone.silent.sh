# pd-test: target=vllm==0.32.0
vllm serve m --spec-method ngram --spec-tokens 2
