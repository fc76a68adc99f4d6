#!/bin/bash
# pd-test: target=0.25.1rc1
vllm serve /models/m
