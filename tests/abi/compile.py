#!/usr/bin/env python3
"""compile.py INCLUDE_DIR: the public headers compile alone, as every language level that we promise, without a warning and
without hidden padding, by gcc and clang; also behind readline's headers."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ALONE = '#include "ratel/rl.h"\n'
BEHIND_READLINE = "#include <stdio.h>\n#include <readline/readline.h>\n#include <readline/history.h>\n" + ALONE
TWICE = ALONE + ALONE
CPP_WRAPPER = '#include "ratel/rl.hpp"\n'

STRICT = ["-pedantic", "-Wall", "-Wextra", "-Werror", "-fsyntax-only"]
LAYOUT = ["-Wpadded", "-Wundef", "-Wshadow", "-Wconversion"]
C_ONLY = ["-Wstrict-prototypes", "-Wmissing-prototypes"]


def compilers():
    """(gcc, g++) and (clang, clang++) as far as they are here."""
    pairs = [("gcc", "g++"), ("clang-14", "clang++-14"), ("clang", "clang++")]
    found = [pair for pair in pairs if shutil.which(pair[0]) and shutil.which(pair[1])]
    if ("clang-14", "clang++-14") in found and ("clang", "clang++") in found:
        found.remove(("clang", "clang++"))
    return found


def cases(include_dir, c, cpp):
    for standard in ("c99", "c11", "c17"):
        yield c, standard, "c", ALONE, LAYOUT + C_ONLY
        yield c, standard, "c", TWICE, LAYOUT + C_ONLY
        yield c, standard, "c", BEHIND_READLINE, []
    for standard in ("c++11", "c++17", "c++20"):
        yield cpp, standard, "c++", ALONE, LAYOUT
        yield cpp, standard, "c++", BEHIND_READLINE, []
    if (pathlib.Path(include_dir) / "ratel/rl.hpp").exists():
        for standard in ("c++17", "c++20"):
            yield cpp, standard, "c++", CPP_WRAPPER, ["-Wshadow", "-Wconversion"]
            yield cpp, standard, "c++", BEHIND_READLINE + CPP_WRAPPER, []


def main():
    include_dir = sys.argv[1]
    pairs = compilers()
    missing = [name for name in ("gcc", "clang") if not any(pair[0].startswith(name) for pair in pairs)]
    if not os.path.exists("/usr/include/readline/readline.h"):
        missing.append("libreadline-dev")
    if missing:
        print("missing:", ", ".join(missing))
        return 1 if os.environ.get("CI") == "true" else 77
    failed = count = 0
    for c, cpp in pairs:
        for compiler, standard, language, text, flags in cases(include_dir, c, cpp):
            with tempfile.TemporaryDirectory() as folder:
                source = pathlib.Path(folder) / ("probe.c" if language == "c" else "probe.cpp")
                source.write_text(text)
                command = [compiler, f"-std={standard}", *STRICT, *flags, "-I", include_dir, str(source)]
                run = subprocess.run(command, capture_output=True, text=True)
            count += 1
            if run.returncode:
                failed += 1
                print(" ".join(command), text, run.stderr, sep="\n")
    print(f"{count} compilations, {failed} failed")
    return 1 if failed else 0


sys.exit(main())
