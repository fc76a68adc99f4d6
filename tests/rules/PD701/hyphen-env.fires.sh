#!/bin/bash
env VLLM-ASCEND_ENABLE_FUSED_MC2=1 HCCL_BUFFSIZE=1024 vllm serve /models/m
