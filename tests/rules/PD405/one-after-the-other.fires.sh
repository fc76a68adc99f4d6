#!/bin/bash
vllm serve /models/a --port 8000 &
sleep 60
vllm serve /models/b --port 8000 &
wait
