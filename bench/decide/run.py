#!/usr/bin/env python3
"""run.py --program BENCH_DECIDE [options]: decisions in memory, next to floors and peers, and what became of each target.

    --program FILE   build/bench/bench/decide/bench_decide (scripts/bench decide builds it)
    --rounds N       9; every case runs once in each round, medians are told with the spread
    --only SECTION   tables, rules, hot, growth, inserts, churn, exact, reload or several; may be given more than once
    --quick          a smoke run: small tables, two rounds
    --write          writes bench/results/decide.json, of which bench/report.py makes tables and charts

    --scale          in place of all that: a hundred million keys through a table with room for ten million, a billion decisions; --write writes
                     bench/results/scale.json. --divide N: with an N-th of all of it. Ends with an error when the victim of the flood got more than its limit, or the table grew beyond its bound.
"""

import argparse
import json
import os
import pathlib
import platform
import re
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
RESULTS = HERE.parent / "results"
sys.path.insert(0, str(HERE))

import figures  # noqa: E402
import tables  # noqa: E402

SECTIONS = ("tables", "rules", "hot", "growth", "inserts", "churn", "exact", "reload", "several")
MAPS = ("ratel", "striped mutex map", "striped mutex map, tuned", "boost flat map", "boost flat map, tuned")


# Where many keys are held, peers get what the engine asks for itself: memory on huge pages (glibc 2.35 and later; mallopt(3)).
MANY_KEYS = ("tables", "several")
HUGE_MALLOC = {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}


def ask(program, options, *what):
    """The rows that the program prints for a section."""
    started = time.monotonic()
    environment = os.environ | (HUGE_MALLOC if what[0] in MANY_KEYS else {})
    done = subprocess.run([program, *options, *what], stdout=subprocess.PIPE, text=True, check=True, env=environment)
    print(f"{' '.join(what)}: {time.monotonic() - started:.0f} s", flush=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def measure(program, options, sections, rounds, has_boost):
    rows = ask(program, options, "answers")
    maps = [name for name in MAPS if has_boost or "boost" not in name]
    for section in sections:
        if section == "growth":
            for name in (name for name in maps if "tuned" not in name):  # room for 16 million keys is no growth
                rows += ask(program, options, section, name)
        elif section == "inserts":
            for _ in range(min(rounds, 5)):
                for name in maps:
                    rows += ask(program, options, section, name)
        else:
            rows += ask(program, options, section)
    return rows


def machine(program):
    told = ask(program, [], "versions")[0]
    cpu = re.search(r"model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text())
    commit = subprocess.run(["git", "-C", HERE, "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    huge = pathlib.Path("/sys/kernel/mm/transparent_hugepage/enabled")
    return {
        "machine": f"{cpu[1] if cpu else platform.machine()}, {os.cpu_count()} cores, {platform.system()} {platform.release()}",
        "huge_pages": re.search(r"\[(\w+)\]", huge.read_text())[1] if huge.exists() else "none",
        "load_average_at_start": os.getloadavg()[0],
        "date": time.strftime("%Y-%m-%d"),
        "commit": commit.stdout.strip() or "unknown",
        "ratel": told["ratel"], "compiler": told["compiler"], "boost": told["boost"].replace("_", "."),
    }


def must_be_exact(rows):
    """Counts are no matter of speed: a wrong one ends the benchmark."""
    wrong = [row for row in rows if row["section"] == "exact" and row["admitted"] != row["capacity"]]
    wrong += [row for row in rows if row["section"] == "churn" and row["allowed"] != row["keys"]]
    wrong += [row for row in rows if row["section"] in ("tables", "several") and row["allowed"] < 0.999]
    wrong += [row for row in rows if row["name"] == "flood" and (row["victim_got_more"] or row["victim_had"] != row["victim_limit"])]
    wrong += [row for row in rows if row["section"] == "scale" and row["most_keys"] > 1.001 * figures.budget(rows)]
    for row in wrong:
        print(f"error: {json.dumps(row)[:300]}", file=sys.stderr)
    if wrong:
        raise SystemExit(1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--only", action="append", choices=SECTIONS)
    parser.add_argument("--divide", type=int, default=1)
    for flag in ("--quick", "--write", "--scale"):
        parser.add_argument(flag, action="store_true")
    arguments = parser.parse_args()
    if arguments.write and (arguments.quick or arguments.only):
        parser.error("--write wants a whole run")
    rounds = 2 if arguments.quick else arguments.rounds
    options = ["--quick"] if arguments.quick else ["--rounds", str(rounds), "--divide", str(arguments.divide)]
    started = time.monotonic()
    told = {"versions": machine(arguments.program), "rounds": rounds}
    if arguments.scale or arguments.quick:
        told["rows"] = ask(arguments.program, options, "scale")
        must_be_exact(told["rows"])
        print("\n" + tables.scale(told))
        if arguments.write:
            keep("scale", told, started)
        if not arguments.quick:
            return
    told["rows"] = measure(arguments.program, options, arguments.only or SECTIONS, rounds, bool(told["versions"]["boost"]))
    must_be_exact(told["rows"])
    print("\n" + tables.decide(told))
    if arguments.write:
        keep("decide", told, started)
    print(f"\n{len(told['rows'])} rows measured in {time.monotonic() - started:.0f} s, every answer looked at")


def keep(name, told, started):
    told["seconds"] = round(time.monotonic() - started)
    RESULTS.mkdir(exist_ok=True)
    head = {key: value for key, value in told.items() if key != "rows"}
    lines = ",\n".join(json.dumps(row) for row in told["rows"])
    (RESULTS / f"{name}.json").write_text(json.dumps(head, indent=1)[:-2] + f',\n "rows": [\n{lines}\n]}}\n')


if __name__ == "__main__":
    main()
