#!/usr/bin/env python3
"""exports.py HEADER MAP LIBRARY: the functions that rl.h declares, the names in the version script, and what the library
exports are the same set; each export is a plain function under one of our version nodes."""
import re
import subprocess
import sys

import header


def of_map(path):
    nodes = {}
    text = re.sub(r"#.*", "", open(path, encoding="utf-8").read())
    for node, body in re.findall(r"(RATEL_\d+\.\d+)\s*\{(.*?)\}", text, flags=re.S):
        for name in re.findall(r"(\S+)\s*;", body.split("local:")[0].replace("global:", "")):
            nodes[name] = node
    return nodes


def of_library(path):
    """name@@node -> kind, of everything that is visible from outside."""
    out = subprocess.run(["nm", "-D", "--defined-only", path], check=True, capture_output=True, text=True).stdout
    rows = [line.split() for line in out.splitlines()]
    return {row[-1]: row[-2] for row in rows}


def main():
    header_path, map_path, library_path = sys.argv[1:]
    declared = header.functions(header_path)
    mapped = of_map(map_path)
    expected = {f"{name}@@{node}": "T" for name, node in mapped.items()}
    expected.update({node: "A" for node in mapped.values()})
    exported = of_library(library_path)
    faults = [f"declared twice in the header: {name}" for name in set(declared) if declared.count(name) > 1]
    faults += [f"in the header, not in the map: {name}" for name in sorted(set(declared) - set(mapped))]
    faults += [f"in the map, not in the header: {name}" for name in sorted(set(mapped) - set(declared))]
    faults += [f"should be exported: {name}" for name in sorted(set(expected) - set(exported))]
    faults += [f"should not be exported: {name}" for name in sorted(set(exported) - set(expected))]
    faults += [
        f"exported as {exported[name]}, not as {kind}: {name}"
        for name, kind in expected.items()
        if exported.get(name, kind) != kind
    ]
    print("\n".join(faults))
    print(f"{len(declared)} functions, {len(faults)} faults")
    return 1 if faults or not declared else 0


sys.exit(main())
