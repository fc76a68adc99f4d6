#!/bin/bash
# pd-test: target=vllm==0.40.0
vllm serve /models/m
