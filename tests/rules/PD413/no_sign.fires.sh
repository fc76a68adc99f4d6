#!/bin/bash
export HCCL_BUFFSIZE=1024
vllm serve /models/m
