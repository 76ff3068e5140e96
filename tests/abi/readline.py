#!/usr/bin/env python3
"""readline.py HEADER: no name of rl.h is one of GNU readline's, which shares our prefix and may be in the same process."""
import glob
import os
import pathlib
import re
import subprocess
import sys

import header


def readline_names():
    names = set()
    for path in glob.glob("/usr/include/readline/*.h"):
        names.update(re.findall(r"\b[A-Za-z_]\w*", pathlib.Path(path).read_text(encoding="latin-1")))
    for path in glob.glob("/usr/lib/*/libreadline.so"):
        out = subprocess.run(["nm", "-D", "--defined-only", path], check=True, capture_output=True, text=True).stdout
        names.update(line.split()[-1].split("@")[0] for line in out.splitlines())
    return names


def main():
    theirs = readline_names()
    if not {"rl_free", "rl_readline_version", "RL_STATE_DONE"} <= theirs:
        print("missing: GNU readline's headers (apt-get install libreadline-dev)")
        return 1 if os.environ.get("CI") == "true" else 77
    path = sys.argv[1]
    ours = set(header.functions(path) + header.macros(path) + header.types(path))
    shared = sorted(ours & theirs)
    print("\n".join(f"readline has this name too: {name}" for name in shared))
    prefixed = sum(name.lower().startswith("rl_") for name in theirs)
    print(f"{len(ours)} names of ours, {prefixed} of readline's with our prefix, {len(shared)} shared")
    return 1 if shared or not ours else 0


sys.exit(main())
