#!/usr/bin/env python3
"""with_packages.py FOLDER SCRIPT [ARGUMENT...]: runs a script with the packages that the tests need.

They go into a virtual environment in FOLDER, once. Without them the exit code is 77 (skipped); with CI=true it is 1.
"""

import fcntl
import os
import pathlib
import subprocess
import sys
import venv

PACKAGES = ["http-sf>=1,<2", "prometheus-client>=0.19,<1", "jsonschema>=4,<5", "PyYAML>=6,<7"]


def install(folder):
    done = folder / "installed.txt"
    if done.exists() and done.read_text() == "\n".join(PACKAGES):
        return
    venv.create(folder / "venv", with_pip=True, clear=True)
    pip = [str(folder / "venv/bin/python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run(pip + PACKAGES, check=True)
    done.write_text("\n".join(PACKAGES))


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            install(folder)
        except (OSError, subprocess.SubprocessError) as error:
            print(f"the packages {', '.join(PACKAGES)} cannot be installed: {error}", file=sys.stderr)
            sys.exit(1 if os.environ.get("CI") == "true" else 77)
    python = str(folder / "venv/bin/python")
    os.execv(python, [python] + sys.argv[2:])


if __name__ == "__main__":
    main()
