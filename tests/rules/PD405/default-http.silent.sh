#!/bin/bash
vllm serve /models/a &
vllm serve /models/b --port 8001 &
