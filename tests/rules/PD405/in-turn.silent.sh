#!/bin/bash
# one of these, as you like
vllm serve /models/m --max-num-seqs 8

vllm serve /models/m --max-num-seqs 16
