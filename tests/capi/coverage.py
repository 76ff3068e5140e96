#!/usr/bin/env python3
"""coverage.py ROOT: every function of rl.h is called by a test of this folder; those that take an argument by the hostile ones too."""
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
header = (root / "include/ratel/rl.h").read_text(encoding="utf-8")
functions = re.findall(r"^RL_API [^;]*?\b(rl_\w+)\(([^)]*)\)", header, flags=re.M)
texts = {path.name: path.read_text(encoding="utf-8") for path in (root / "tests/capi").glob("*.c")}
faults = []
for function, arguments in functions:
    call = re.compile(rf"\b{function}\(")
    if not any(call.search(text) for text in texts.values()):
        faults.append(f"{function}: no test of tests/capi calls it")
    elif arguments != "void" and not call.search(texts["hostile_test.c"]):
        faults.append(f"{function}: hostile_test.c does not call it")
print("\n".join(faults) or f"{len(functions)} functions, each called")
sys.exit(1 if faults or len(functions) < 40 else 0)
