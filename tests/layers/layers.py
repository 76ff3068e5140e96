#!/usr/bin/env python3
"""Reads every #include of the tree and says which ones break the layers.

    layers.py ROOT         checks a source tree
    layers.py --self-test  shows that bad includes are found

The table is the one that src/README.md draws: a folder may use itself, the folders and single headers named here, the
C++ standard library, and the system headers named here. Everything else is a fault.
"""
import pathlib
import re
import sys
import tempfile

# folder: (our folders or single headers it may use, headers from outside)
LAYERS = {
    "src/core": ([], {"pthread.h", "signal.h", "sys/random.h", "xxhash.h", "time.h"}),
    "src/algorithm": (["src/core"], set()),
    "src/storage": (["src/algorithm", "src/core"], set()),
    "src/storage/memory": (["src/storage", "src/algorithm", "src/core"], {"sys/mman.h", "sched.h", "fcntl.h", "unistd.h"}),
    "src/storage/redis": (
        ["src/storage", "src/algorithm", "src/core"],
        {"hiredis/hiredis.h", "openssl/err.h", "openssl/ssl.h", "openssl/x509v3.h", "fcntl.h", "netdb.h", "netinet/in.h",
         "netinet/tcp.h", "poll.h", "sys/eventfd.h", "sys/socket.h", "sys/un.h", "unistd.h"},
    ),
    "src/rules": (["src/core", "src/algorithm/numbers.hpp", "src/algorithm/outcome.hpp"], set()),
    "src/config": (["src/rules", "src/algorithm", "src/core"], {"yaml.h", "sys/stat.h", "unistd.h", "fcntl.h"}),
    "src/report": (["src/core"], set()),
    "src/limiter": (
        ["src/report", "src/config", "src/rules", "src/storage", "src/algorithm", "src/core"],
        {"linux/membarrier.h", "pthread.h", "sys/syscall.h", "unistd.h"},
    ),
    "capi": (["src", "include/ratel/rl.h"], set()),
    "tools": (["src", "include/ratel/rl.h", "include/ratel/rl.hpp"], None),
}
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.M)
SOURCES = {".hpp", ".cpp", ".h", ".c"}


def folder_of(path):
    """The longest layer that holds a path, None when no layer does."""
    holders = [layer for layer in LAYERS if path.is_relative_to(layer)]
    return max(holders, key=len) if holders else None


def allows(layer, target):
    allowed = LAYERS[layer][0]
    home = folder_of(target)
    if home == layer or str(target) in allowed or home in allowed:
        return True
    return "src" in allowed and target.is_relative_to("src")


def fault_of(root, source, layer, quote, name):
    """What is wrong with one include, None when nothing is."""
    places = [root / "src" / name, root / "include" / name, root / name]
    if quote == '"':
        places.insert(0, root / source.parent / name)
    for place in places:
        if place.is_file():
            target = place.resolve().relative_to(root.resolve())
            return None if allows(layer, target) else f"{layer} must not know {target}"
    if quote == '"':
        return "no such header in the tree (headers from outside go in angle brackets)"
    outside = LAYERS[layer][1]
    if "." not in name or outside is None or name in outside:
        return None
    return f"{layer} must not know <{name}>"


def check(root):
    faults = []
    count = 0
    for top in ("src", "capi", "tools"):
        for path in sorted((root / top).rglob("*")):
            source = path.relative_to(root)
            if path.suffix not in SOURCES or source.is_relative_to("capi/abi"):
                continue
            count += 1
            layer = folder_of(source)
            if layer is None:
                faults.append(f"{source}: belongs to no layer")
                continue
            text = path.read_text(encoding="utf-8")
            for match in INCLUDE.finditer(text):
                fault = fault_of(root, source, layer, match[1], match[2])
                if fault:
                    line = text.count("\n", 0, match.start()) + 1
                    faults.append(f"{source}:{line}: {fault}")
    return count, faults


# file, its include, whether that is a fault
SELF_TEST = [
    ("src/core/a.hpp", "<vector>", False),
    ("src/core/b.hpp", '"core/a.hpp"', False),
    ("src/core/bad1.hpp", '"algorithm/a.hpp"', True),
    ("src/core/bad2.hpp", "<yaml.h>", True),
    ("src/core/bad3.hpp", '"core/absent.hpp"', True),
    ("src/algorithm/a.hpp", '"core/a.hpp"', False),
    ("src/algorithm/numbers.hpp", '"core/a.hpp"', False),
    ("src/algorithm/bad.hpp", '"storage/storage.hpp"', True),
    ("src/storage/storage.hpp", '"algorithm/a.hpp"', False),
    ("src/storage/bad.hpp", '"storage/memory/table.hpp"', True),
    ("src/storage/memory/table.hpp", '"storage/storage.hpp"', False),
    ("src/storage/memory/bad1.hpp", '"ratel/rl.h"', True),
    ("src/storage/memory/bad2.hpp", '"rules/rule.hpp"', True),
    ("src/rules/rule.hpp", '"algorithm/numbers.hpp"', False),
    ("src/rules/bad1.hpp", '"algorithm/a.hpp"', True),
    ("src/rules/bad2.hpp", '"../storage/storage.hpp"', True),
    ("src/config/reader.cpp", "<yaml.h>", False),
    ("src/config/bad.cpp", "<sys/socket.h>", True),
    ("src/report/decision.hpp", '"core/a.hpp"', False),
    ("src/report/headers.hpp", '"report/decision.hpp"', False),
    ("src/report/bad.cpp", '"limiter/registry.hpp"', True),
    ("src/limiter/registry.hpp", '"report/decision.hpp"', False),
    ("src/limiter/bad1.cpp", '"../capi/registry.hpp"', True),
    ("src/limiter/bad2.cpp", '"storage/memory/table.hpp"', True),
    ("src/limiter/bad3.cpp", '"ratel/rl.h"', True),
    ("src/limiter/bad4.cpp", "# include <yaml.h>", True),
    ("src/bad.cpp", "<vector>", True),
    ("capi/registry.cpp", '"limiter/registry.hpp"', False),
    ("capi/other.cpp", '"ratel/rl.h"', False),
    ("capi/bad.cpp", '"../tests/help.hpp"', True),
    ("tools/main.cpp", "<CLI/CLI.hpp>", False),
]


def self_test():
    with tempfile.TemporaryDirectory() as name:
        root = pathlib.Path(name)
        help_files = [("tests/help.hpp", None, False), ("include/ratel/rl.h", None, False)]
        for path, include, _ in SELF_TEST + help_files:
            file = root / path
            file.parent.mkdir(parents=True, exist_ok=True)
            line = "" if include is None else include if include.startswith("#") else f"#include {include}"
            file.write_text(f"// first line\n{line}\n")
        _, faults = check(root)
    found = {fault.split(":")[0] for fault in faults}
    expected = {path for path, _, bad in SELF_TEST if bad}
    for path in sorted(found ^ expected):
        print(f"{path}: {'not found' if path in expected else 'wrongly refused'}")
    print(f"self-test: {len(SELF_TEST)} includes, {len(expected)} of them bad")
    return found == expected


def main():
    if sys.argv[1:] == ["--self-test"]:
        return 0 if self_test() else 1
    count, faults = check(pathlib.Path(sys.argv[1]))
    print("\n".join(faults))
    print(f"{count} files, {len(faults)} faults")
    return 1 if faults or count == 0 else 0


sys.exit(main())
