#!/usr/bin/env python3
"""layout.py HEADER [COMMITTED]: prints size and field offsets of every public struct. With a committed text, fails when
today's differs from it; when the text is an older minor's, structs and fields may have been added at the end."""
import difflib
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import header


def layout(path):
    lines = ["#include <stddef.h>", "#include <stdio.h>", f'#include "{pathlib.Path(path).resolve()}"', "int main(void) {"]
    lines.append('  printf("ABI %d.%d: struct and size, then offset, size and name of each field\\n", RL_ABI_MAJOR, RL_ABI_MINOR);')
    for struct, fields in header.structs(path):
        lines.append(f'  printf("{struct} %zu\\n", sizeof({struct}));')
        for field in fields:
            at = f"offsetof({struct}, {field}), sizeof((({struct} *)0)->{field})"
            lines.append(f'  printf("  %zu %zu {field}\\n", {at});')
    lines.append("  return 0;\n}\n")
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / "layout.c"
        source.write_text("\n".join(lines))
        program = pathlib.Path(folder) / "layout"
        subprocess.run([os.environ.get("CC", "cc"), "-std=c99", "-o", program, source], check=True)
        return subprocess.run([program], check=True, capture_output=True, text=True).stdout


def parse(text):
    """{struct: (size, [field lines])}"""
    parts = re.findall(r"^(rl_\w+) (\d+)\n((?:  .*\n)*)", text, flags=re.M)
    return {struct: (int(size), fields.splitlines()) for struct, size, fields in parts}


def faults_of_growth(old, new):
    for struct, (size, fields) in old.items():
        if struct not in new:
            yield f"{struct} is gone"
            continue
        new_size, new_fields = new[struct]
        if new_fields[: len(fields)] != fields:
            yield f"{struct}: its old fields are not as they were"
        if new_size != size and not fields[0].endswith(" struct_size"):
            yield f"{struct} has no struct_size and cannot grow from {size} to {new_size}"
        if new_size < size:
            yield f"{struct} shrank from {size} to {new_size}"


def main():
    today = layout(sys.argv[1])
    if len(sys.argv) == 2:
        print(today, end="")
        return 0
    committed = pathlib.Path(sys.argv[2]).read_text(encoding="utf-8")
    if committed.split(":")[0] == today.split(":")[0]:
        faults = list(difflib.unified_diff(committed.splitlines(), today.splitlines(), sys.argv[2], "today", lineterm=""))
    else:
        faults = list(faults_of_growth(parse(committed), parse(today)))
    print("\n".join(faults))
    print(f"{len(parse(today))} structs, {len(faults)} faults")
    return 1 if faults or not parse(committed) else 0


sys.exit(main())
