#!/usr/bin/env bash
# abidiff.sh INCLUDE_DIR BASELINE LIBRARY: nothing that an older caller relies on has changed since the baseline was taken.
# Added functions are fine; added fields are not seen as such by abidiff, so a new minor takes a new baseline.
set -euo pipefail
if ! command -v abidiff >/dev/null; then
  echo "missing: abidiff (apt-get install abigail-tools)"
  [ "${CI:-}" = true ] && exit 1
  exit 77
fi
abidiff --headers-dir2 "$1" --drop-private-types --no-added-syms "$2" "$3"
