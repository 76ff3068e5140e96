#!/usr/bin/env bash
# objects.sh LIBRARY ARCHIVE: libratel.so needs nothing but the C library, and no object of ours has a static constructor.
set -euo pipefail
fail=0
while read -r needed; do
  case $needed in
    libc.so.* | libm.so.* | ld-linux*.so.*) ;;
    *) echo "libratel.so needs $needed" && fail=1 ;;
  esac
done < <(readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')

soname=$(readelf -d "$1" | sed -n 's/.*(SONAME).*\[\(.*\)\]/\1/p')
[ "$soname" = libratel.so.1 ] || { echo "the SONAME is $soname" && fail=1; }

undefined=$(nm -D --undefined-only "$1" | grep -E ' U (_Z|__cxa_(throw|guard|pure)|__gxx)' || true)
[ -z "$undefined" ] || { printf 'the C++ runtime is looked for outside:\n%s\n' "$undefined" && fail=1; }

constructors=$(readelf -S -W "$2" | awk '/^File:/ {file = $2} /\.(init_array|ctors)/ {print file}')
[ -z "$constructors" ] || { printf 'static constructors in:\n%s\n' "$constructors" && fail=1; }

[ $fail -eq 0 ] && echo "dependencies, SONAME and constructors are as they should be"
exit $fail
