# pd-test: severity=warning line=4 target=vllm==0.32.0
if [ "$ROLE" = decode ]; then
  # the branch alone sets it
  PYTHONHASHSEED=0
fi
vllm serve /models/m --port 8000
