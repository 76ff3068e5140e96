#!/usr/bin/env bash
# run.sh KIND ROOT BUILD_DIR: uses Ratel from outside as its users do: builds examples/c/quickstart.c in a project of its own,
# runs it, and compares what it prints. KIND install puts the library where the others look for it.
set -euo pipefail
kind=$1 root=$2 build=$3
prefix=$build/package-test/prefix
work=$build/package-test/$kind
program=$root/examples/c/quickstart.c
rm -rf "$work"
mkdir -p "$work"

expect() {
  "$@" >"$work/output.txt"
  diff -u "$root/tests/package/expected.txt" "$work/output.txt"
}

with_cmake() {
  if command -v ccache >/dev/null; then export CMAKE_C_COMPILER_LAUNCHER=ccache CMAKE_CXX_COMPILER_LAUNCHER=ccache; fi
  cmake -G Ninja -S "$root/tests/package/$kind" -B "$work/build" -DPROGRAM="$program" "$@"
  cmake --build "$work/build"
  expect "$work/build/shared"
  expect "$work/build/static"
  if readelf -d "$work/build/static" | grep -q 'libratel'; then
    echo "the static program needs libratel.so" && exit 1
  fi
}

pkg() { PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name ratel.pc)") pkg-config "$@"; }

case $kind in
  install)
    rm -rf "$prefix"
    cmake --install "$build" --prefix "$prefix"
    ;;
  find_package) with_cmake -DCMAKE_PREFIX_PATH="$prefix" ;;
  add_subdirectory) with_cmake -DRATEL_ROOT="$root" ;;
  pkg_config)
    [ "$(pkg --modversion ratel)" = "$(cat "$root/VERSION")" ]
    # shellcheck disable=SC2046  # lists of flags
    cc -std=c99 "$program" $(pkg --cflags --libs ratel) -Wl,-rpath,"$(pkg --variable=libdir ratel)" -o "$work/shared"
    expect "$work/shared"
    ;;
  pkg_config_static)
    # With the archive alone in reach, as on a machine that has no shared one.
    mkdir "$work/lib"
    cp "$(pkg --variable=libdir ratel)/libratel.a" "$work/lib"
    # shellcheck disable=SC2046
    cc -std=c99 "$program" $(pkg --cflags ratel) -L"$work/lib" $(pkg --static --libs-only-l --libs-only-other ratel) -o "$work/static"
    expect "$work/static"
    ;;
  *) echo "unknown kind $kind" && exit 1 ;;
esac
