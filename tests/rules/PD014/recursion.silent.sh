run() {
  vllm serve /models/m --port 8000 || run
}
run
