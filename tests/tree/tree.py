#!/usr/bin/env python3
"""tree.py ROOT: no file of the tree names a path of one machine, and none is above one mebibyte. With it go what
belongs to every folder of sources, a README of at most fifteen lines, and the program that the front page shows."""
import os
import pathlib
import re
import subprocess
import sys

LIMIT = 1 << 20
# The front page, and the list of field cases with what became of each.
LONG_READMES = {"README.md", "bench/README.md", "tests/vectors/README.md"}
# Put together here, so that this file is not a finding itself.
HOMES = re.compile("|".join(["/wor" + "k/(?:main|shared)", "/roo" + "t/", "/hom" + r"e/\w+/", "/User" + r"s/\w+/"]))


def files(root):
    """What git tracks; without git, all but build folders."""
    listed = subprocess.run(["git", "-C", root, "ls-files", "-z"], capture_output=True)
    if listed.returncode == 0 and listed.stdout:
        return [root / name for name in listed.stdout.decode().split("\0") if name]
    return [path for path in root.rglob("*") if path.is_file() and "build" not in path.relative_to(root).parts]


def faults_of(root, path):
    name = path.relative_to(root)
    data = path.read_bytes()
    if len(data) > LIMIT:
        yield f"{name}: {len(data)} bytes, above 1 MiB"
    text = data.decode("utf-8", errors="replace")
    here = [str(root) + "/", os.path.expanduser("~") + "/"]
    for number, line in enumerate(text.splitlines(), 1):
        if HOMES.search(line) or any(place in line for place in here if len(place) > 2):
            yield f"{name}:{number}: names a path of one machine"
    if path.name == "README.md" and str(name) not in LONG_READMES and len(text.splitlines()) > 15:
        yield f"{name}: {len(text.splitlines())} lines, a folder's README has at most 15"


def source_folders(root, listed):
    """Folders with sources; below tests/<subject> the subject's README speaks for all."""
    folders = {path.relative_to(root).parent for path in listed if path.suffix in {".cpp", ".hpp", ".py"}}
    return {pathlib.Path(*folder.parts[:2]) if folder.parts[0] == "tests" else folder for folder in folders}


def quickstart_faults(root):
    """The README shows the program that tests/package runs."""
    shown = re.search(r"```c\n(.*?)```", (root / "README.md").read_text(encoding="utf-8"), flags=re.S)
    program = (root / "examples/c/quickstart.c").read_text(encoding="utf-8")
    if not shown or not program.endswith(shown[1]):
        yield "README.md: its C program is not examples/c/quickstart.c"


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    listed = [path for path in files(root) if path.is_file() and not path.is_symlink()]
    faults = [fault for path in listed for fault in faults_of(root, path)]
    faults += quickstart_faults(root)
    faults += [f"{folder}: has no README.md" for folder in sorted(source_folders(root, listed)) if not (root / folder / "README.md").exists()]
    print("\n".join(faults))
    print(f"{len(listed)} files, {len(faults)} faults")
    return 1 if faults or not listed else 0


sys.exit(main())
