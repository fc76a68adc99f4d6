#!/bin/bash
export MOONCAKE_CONFIG_PATH=/etc/xx.json
vllm serve /models/m
