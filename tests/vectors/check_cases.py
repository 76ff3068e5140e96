#!/usr/bin/env python3
"""The table of field cases in README.md is whole, and what it names is there and names the case."""

import json
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
CASES = [f"B{number:03}" for number in range(3, 253, 3)]


def refs_by_vector():
    found = {}
    for path in HERE.glob("*.json"):
        for vector in json.loads(path.read_text()).get("vectors", []):
            found[f"{path.stem}: {vector['name']}"] = vector["refs"]
    return found


def faults_of(case, where, vectors):
    for name in re.findall(r"`([^`]+)`", where):
        if ": " in name:
            if case not in vectors.get(name, []):
                yield f"{case}: no vector {name} that refers to it"
        elif "/" in name and not (ROOT / name).exists():
            yield f"{case}: no {name}"


def main():
    rows = re.findall(r"^\| (B\d+) \| (.+) \|$", (HERE / "README.md").read_text(), re.MULTILINE)
    faults = [] if [case for case, _ in rows] == CASES else ["the table does not list every case once, in order"]
    vectors = refs_by_vector()
    for case, where in rows:
        faults += faults_of(case, where, vectors)
    if faults:
        sys.exit("\n".join(faults))
    print(f"{len(rows)} cases, {len(vectors)} vectors")


if __name__ == "__main__":
    main()
