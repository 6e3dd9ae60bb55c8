#!/usr/bin/env bash
# Checks licences, sources and duplicates of the dependencies with cargo-deny, which is built once
# into the cache. Advisories need a network that may be absent; they are no part of this check.
set -euo pipefail
cd "$(dirname "$0")/.."
version=0.20.2
root="${FORESAIL_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/foresail}/tools/cargo-deny-$version"
if [ ! -x "$root/bin/cargo-deny" ]; then
  echo "deny: building cargo-deny $version (once; kept in $root)" >&2
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  # From another folder, so that neither this workspace's toolchain file nor its target folder is used.
  (cd "$work" && CARGO_TARGET_DIR="$work/target" CARGO_PROFILE_RELEASE_OPT_LEVEL=0 CARGO_PROFILE_RELEASE_LTO=off \
    cargo install "cargo-deny@$version" --locked --quiet --root "$work/root")
  mkdir -p "$(dirname "$root")"
  rm -rf "$root"
  mv "$work/root" "$root"
fi
cargo fetch --locked --quiet
"$root/bin/cargo-deny" --offline --log-level error check --hide-inclusion-graph bans licenses sources
