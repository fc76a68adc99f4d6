#!/bin/bash
vllm serve /models/a --port 8000 &
kill $!
vllm serve /models/b --port 8000 &
wait
