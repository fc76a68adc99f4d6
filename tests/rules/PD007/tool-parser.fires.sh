# pd-test: target=vllm==0.32.0 severity=error line=3
vllm serve /models/m --enable-auto-tool-choice \
  --tool-call-parser hermess
