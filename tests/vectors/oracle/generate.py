#!/usr/bin/env python3
"""Writes the vectors. With --check: writes nothing, and fails when a file is not what the oracle says.

The oracle follows semantics.md with exact fractions; it shares nothing with the engine's sources.
"""

import argparse
import importlib
import json
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
FOLDER = HERE.parent
MODULES = ("worked", "buckets", "windows", "several", "clock", "settle", "reload", "keys", "matching", "client_ip", "fields",
           "loading", "traces")
LARGEST_TOTAL = 1 << 20


def text_of(vectors):
    """One step on a line: small, and a change of one answer is a change of one line."""
    compact = lambda value: json.dumps(value, ensure_ascii=True, separators=(",", ":"))
    out = ['{"vectors":[']
    for position, vector in enumerate(vectors):
        steps = vector.pop("steps")
        out.append(compact(vector)[:-1] + ',"steps":[')
        out += [compact(step) + ("," if i + 1 < len(steps) else "") for i, step in enumerate(steps)]
        out.append("]}" + ("," if position + 1 < len(vectors) else ""))
    return "\n".join(out) + "\n]}\n"


def all_files():
    names = set()
    for module in MODULES:
        vectors = [vector.document() for vector in importlib.import_module(f"cases.{module}").vectors()]
        for vector in vectors:
            assert vector["name"] not in names, f"two vectors are called {vector['name']}"
            names.add(vector["name"])
        yield FOLDER / f"{module}.json", text_of(vectors)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare, do not write")
    check = parser.parse_args().check
    sys.path.insert(0, str(HERE))
    total, stale = 0, []
    for path, text in all_files():
        total += len(text)
        if not check:
            path.write_text(text)
        elif not path.exists() or path.read_text() != text:
            stale.append(path.name)
    assert total < LARGEST_TOTAL, f"{total} bytes of vectors"
    if stale:
        sys.exit(f"not what the oracle says: {', '.join(stale)}; run tests/vectors/oracle/generate.py and look at the diff")
    print(f"{total} bytes in {len(MODULES)} files")


if __name__ == "__main__":
    main()
