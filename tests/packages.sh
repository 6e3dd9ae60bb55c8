#!/usr/bin/env bash
# Installs what the tests need from Debian when run as root, else says what to install.
# One line a program: the command, and the package that brings it.
set -euo pipefail

command -v cargo >/dev/null || { echo "packages: cargo is not installed; Rust by rustup builds Foresail" >&2; exit 1; }
missing=()
while read -r program package; do
  command -v "$program" >/dev/null || missing+=("$package")
done <<'EOT'
cc gcc
openssl openssl
curl curl
c++ g++
cmake cmake
python3 python3
EOT
# A part of Python that Debian has in a package of its own.
python3 -c 'import ensurepip, venv' 2>/dev/null || missing+=(python3-venv)
[ ${#missing[@]} -eq 0 ] && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  echo "packages: installing ${missing[*]}" >&2
  apt-get update -qq >&2
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "${missing[@]}" >&2
else
  echo "packages: install ${missing[*]} (Debian: apt-get install ${missing[*]})" >&2
  exit 1
fi
