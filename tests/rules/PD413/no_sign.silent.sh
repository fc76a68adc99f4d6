#!/bin/bash
vllm serve /models/m
