#!/bin/bash
vllm serve /models/m \
  --port 8200
