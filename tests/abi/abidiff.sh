#!/usr/bin/env bash
# abidiff.sh BASELINE LIBRARY: an ABI minor that is frozen does not change in anything. (What is added belongs to
# the next minor; its older siblings are then held by their layouts and their callers.)
set -euo pipefail
if ! command -v abidiff >/dev/null; then
  echo "missing: abidiff (apt-get install abigail-tools)"
  [ "${CI:-}" = true ] && exit 1
  exit 77
fi
abidiff --harmless --suppressions "$(dirname "$0")/opaque.suppr" "$1" "$2"
echo "as in the baseline"
