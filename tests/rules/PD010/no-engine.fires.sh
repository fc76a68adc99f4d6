#!/bin/bash
# pd-test: severity=error
echo nothing is started here
