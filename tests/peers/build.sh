#!/usr/bin/env bash
# Builds the real programs that the tests run against (etcd, the Kubernetes control plane, KWOK,
# Prometheus, helm) from published Go modules into a cache outside the tree, one folder per version
# and build recipe, so that a second run costs seconds. Prints nothing but progress on stderr; with
# --dir it prints the folder of one peer and builds nothing.
set -euo pipefail
cd "$(dirname "$0")"
cache="${FORESAIL_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/foresail}/peers"

# name | module that carries the version | extra build flags
peers='etcd|go.etcd.io/etcd/server/v3|
kwok|sigs.k8s.io/kwok|
helm|helm.sh/helm/v3|
prometheus|github.com/prometheus/prometheus|-tags=netgo,remove_all_sd
kubernetes|k8s.io/kubernetes|'

version_of() { awk -v m="$2" '$1 == "require" && $2 == m {print $3; exit} $1 == m {print $2; exit}' "$1/go.mod"; }

# The folder name holds the version and a digest of everything that shapes the binaries.
dir_of() {
  local name=$1 module=$2 flags=$3 version digest
  version=$(version_of "$name" "$module")
  digest=$(cat "$name/go.mod" "$name/go.sum" "$name/tools.go" <(echo "$flags") | sha256sum | cut -c1-12)
  echo "$cache/$name-$version-$digest"
}

ldflags_of() {
  local version=$2 v=k8s.io/component-base/version minor
  if [ "$1" = kubernetes ]; then
    # Without these the version-skew checks see v0.0.0.
    minor=${version#v1.}; minor=${minor%%.*}
    echo "-s -w -X $v.gitVersion=$version -X $v.gitMajor=1 -X $v.gitMinor=$minor"
  else
    echo "-s -w"
  fi
}

build() {
  local name=$1 module=$2 flags=$3 dir version tmp packages started=$SECONDS
  dir=$(dir_of "$name" "$module" "$flags")
  [ -f "$dir/.complete" ] && return 0
  command -v go >/dev/null || { echo "peers: go is not installed; Go 1.26 or later builds $name" >&2; exit 1; }
  go version | grep -qE 'go1\.(2[6-9]|[3-9][0-9])|go[2-9]' || { echo "peers: $(go version) is too old; Go 1.26 or later builds $name" >&2; exit 1; }
  version=$(version_of "$name" "$module")
  echo "peers: building $name $version (once; kept in $cache)" >&2
  mkdir -p "$cache"
  tmp=$(mktemp -d "$cache/.$name.XXXXXX")
  packages=$(sed -n 's/^[[:space:]]*_ "\(.*\)"$/\1/p' "$name/tools.go")
  # shellcheck disable=SC2086 # flags and packages are lists
  (cd "$name" && CGO_ENABLED=0 go build -trimpath $flags -ldflags "$(ldflags_of "$name" "$version")" -o "$tmp/" $packages)
  if [ "$name" = etcd ]; then [ -e "$tmp/etcd" ] || mv "$tmp"/v3 "$tmp/etcd" 2>/dev/null || mv "$tmp"/server "$tmp/etcd"; fi
  touch "$tmp/.complete"
  rm -rf "$dir"
  mv "$tmp" "$dir"
  echo "peers: $name built in $((SECONDS - started)) s" >&2
}

if [ "${1:-}" = --dir ]; then
  while IFS='|' read -r name module flags; do
    [ "$name" = "${2:-}" ] && { dir_of "$name" "$module" "$flags"; exit 0; }
  done <<<"$peers"
  echo "peers: no peer is called '${2:-}'" >&2
  exit 1
fi

while IFS='|' read -r name module flags; do
  build "$name" "$module" "$flags"
done <<<"$peers"
