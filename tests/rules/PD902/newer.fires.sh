#!/bin/bash
# pd-test: target=0.99.0 severity=info
vllm serve /models/m
