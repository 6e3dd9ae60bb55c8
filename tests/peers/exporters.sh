#!/usr/bin/env bash
# Installs the exporters that `make bench` compares with, each in a folder of its own in the cache, named by version.
# What cannot be installed is said and left out: a benchmark of the others is still one.
set -euo pipefail
cache="${FORESAIL_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/foresail}/peers"
mkdir -p "$cache"

nvitop=1.7.2
# The newest that the pinned Rust builds.
all_smi=0.22.0

dir="$cache/nvitop-exporter-$nvitop"
if [ ! -x "$dir/bin/nvitop-exporter" ]; then
  echo "peers: installing nvitop-exporter $nvitop (once; kept in $cache)" >&2
  rm -rf "$dir"
  { python3 -m venv "$dir" && "$dir/bin/pip" -q install "nvitop-exporter==$nvitop" "nvitop==$nvitop" >&2; } ||
    { echo "peers: nvitop-exporter cannot be installed; it needs python3 with venv" >&2; rm -rf "$dir"; }
fi

dir="$cache/all-smi-$all_smi"
if [ ! -x "$dir/bin/all-smi" ]; then
  echo "peers: building all-smi $all_smi (once, some minutes; kept in $cache)" >&2
  # Its build reads .proto files.
  if ! command -v protoc >/dev/null && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq protobuf-compiler; } >&2 || true
  fi
  target=$(mktemp -d)
  CARGO_TARGET_DIR="$target" cargo install --quiet --locked all-smi --version "$all_smi" --root "$dir" >&2 ||
    echo "peers: all-smi cannot be built; it needs protoc (Debian: protobuf-compiler)" >&2
  rm -rf "$target"
fi
