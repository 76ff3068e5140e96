# Shared by the scripts of this folder: the root, messages, packages, the compiler. Sourced, never run.

set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
jobs=${RATEL_JOBS:-$(nproc)}

say() { printf '\n== %s\n' "$*"; }
die() {
  printf 'error: %s\n' "$*" >&2
  exit 1
}
have() { command -v "$1" >/dev/null 2>&1; }
in_ci() { [ "${CI:-}" = true ]; }

packages_build="build-essential cmake ninja-build pkg-config python3 libyaml-dev libxxhash-dev libhiredis-dev libssl-dev"
packages_tests="libgtest-dev libcmocka-dev nlohmann-json3-dev zsh python3-venv redis-server openssl"
packages_programs="libcli11-dev nlohmann-json3-dev libcpp-httplib-dev curl zlib1g-dev libbrotli-dev"
packages_gates="clang-14 libreadline-dev abigail-tools"
packages_bench="python3-pip"

installed() { [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; }

# need_packages NAME...: installs those that are missing, as root or through sudo; touches nothing when none is.
need_packages() {
  local missing=() name
  for name in "$@"; do
    installed "$name" || missing+=("$name")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  have apt-get || die "missing: ${missing[*]} (no apt-get here: install what corresponds to them)"
  local as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    have sudo || die "missing: ${missing[*]} (run as root: apt-get install ${missing[*]})"
    as_root=(sudo)
  fi
  say "installing ${missing[*]}"
  "${as_root[@]}" apt-get update -q
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "${missing[@]}"
}

# Ubuntu 22.04's own g++ is 11; Ratel wants 12 or later.
need_compiler() {
  [ -z "${CXX:-}" ] || return 0
  if [ "$(g++ -dumpversion | cut -d. -f1)" -lt 12 ]; then
    need_packages g++-12
    export CC=gcc-12 CXX=g++-12
  fi
}

# configure PRESET [cmake arguments]: the packages of the preset, then cmake.
configure() {
  local preset=$1
  shift
  # shellcheck disable=SC2086  # lists of names
  need_packages $packages_build
  need_compiler
  # shellcheck disable=SC2086
  case $preset in
    vendored) ;;
    fuzz) need_clang_runtime ;;
    clang) need_packages clang-14 $packages_tests $packages_programs ;;
    bench) need_packages $packages_tests $packages_programs $packages_bench ;;
    *) need_packages $packages_tests $packages_programs ;;
  esac
  case $preset in
    fuzz | clang) env -u CC -u CXX cmake --preset "$preset" "$@" ;;
    *) cmake --preset "$preset" "$@" ;;
  esac
}

# Debian keeps clang's sanitizer and fuzzer runtime in a package of its own, Ubuntu does not.
need_clang_runtime() {
  need_packages clang-14
  compgen -G "$(clang-14 -print-resource-dir)/lib/linux/libclang_rt.fuzzer*" >/dev/null || need_packages libclang-rt-14-dev
}

# build PRESET [target...]
build() {
  local preset=$1
  shift
  if [ $# -gt 0 ]; then
    cmake --build "build/$preset" -j "$jobs" --target "$@"
  else
    cmake --build "build/$preset" -j "$jobs"
  fi
}

# need_engine: the engine as an installed library in $RATEL_PREFIX; when that is unset, built and installed into build/release/prefix.
need_engine() {
  [ -z "${RATEL_PREFIX:-}" ] || return 0
  RATEL_PREFIX=$root/build/release/prefix
  say "the engine"
  configure release
  build release ratel ratel_static
  cmake --install build/release --prefix "$RATEL_PREFIX" >/dev/null
}
