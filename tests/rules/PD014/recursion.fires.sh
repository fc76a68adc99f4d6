# pd-test: severity=error line=5
start() {
  vllm serve /models/m --port "$1" &
  # the next one
  start $(($1 + 1))
}
start 8000
