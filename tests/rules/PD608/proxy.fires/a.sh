#!/bin/bash
vllm serve /models/m \
  --port 9100
