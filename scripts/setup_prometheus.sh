#!/bin/sh
# Put promtool and prometheus of Debian's or Ubuntu's package into a folder, without installing it, and print that folder.
# usage: PD_PROMETHEUS=$(scripts/setup_prometheus.sh) pytest tests/connector/test_prometheus.py
set -eu
folder=${PD_LAUNCH_CACHE:-$HOME/.cache/pd-launch}/prometheus
if [ ! -x "$folder/usr/bin/promtool" ]; then
  mkdir -p "$folder"
  cd "$folder"
  apt-get download -q prometheus >&2
  dpkg -x prometheus_*.deb .
  rm -f prometheus_*.deb
fi
echo "$folder/usr/bin"
