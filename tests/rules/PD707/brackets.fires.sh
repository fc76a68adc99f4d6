#!/bin/bash
# pd-test: line=3 severity=warning
export GLOO_SOCKET_IFNAME='<nic name>'
vllm serve /models/m
