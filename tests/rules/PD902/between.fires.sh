#!/bin/bash
# pd-test: target=0.24.5
vllm serve /models/m
