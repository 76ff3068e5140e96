#!/usr/bin/env python3
"""layout.py HEADER [COMMITTED]: prints size and field offsets of every public struct; with a committed text, fails when the
two differ."""
import difflib
import os
import pathlib
import subprocess
import sys
import tempfile

import header


def layout(path):
    lines = ["#include <stddef.h>", "#include <stdio.h>", f'#include "{pathlib.Path(path).resolve()}"', "int main(void) {"]
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
        out = subprocess.run([program], check=True, capture_output=True, text=True).stdout
    return "struct size, then: offset size field (64-bit)\n\n" + out


def main():
    text = layout(sys.argv[1])
    if len(sys.argv) == 2:
        print(text, end="")
        return 0
    committed = pathlib.Path(sys.argv[2]).read_text(encoding="utf-8")
    changes = list(difflib.unified_diff(committed.splitlines(), text.splitlines(), sys.argv[2], "today", lineterm=""))
    print("\n".join(changes) or "layout unchanged")
    return 1 if changes else 0


sys.exit(main())
