#!/usr/bin/env python3
"""run.py --build FOLDER [options]: Ratel and its peers on one redis-server, side by side and interleaved.

    --build FOLDER   where the programs are (scripts/bench redis builds them)
    --rounds N       3; medians are told, with the spread
    --only NAME      rows whose name or program holds NAME; `native` is all but Go and Node
    --load NAME      allowed, denied or hot
    --instructions   in place of times: what the server executes per decision, under callgrind
    --quick          a smoke run: small, one round
    --write          writes bench/results/redis.json (or redis-instructions.json) and the tables of bench/redis/RESULTS.md

Every answer is looked at: a run whose allowed total is not what the limit says ends the benchmark with an error.
"""

import argparse
import json
import os
import pathlib
import platform
import re
import signal
import statistics
import subprocess
import sys
import time

import rows
import server
import table

RESULTS = rows.HERE.parent / "results"


def measure(row, load, build, redis, cpus):
    """One run of one program on an emptied server."""
    redis.ask("FLUSHALL")
    redis.ask("CONFIG", "RESETSTAT")
    command = row.command(build, redis.port, load)
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                          preexec_fn=(lambda: os.sched_setaffinity(0, cpus)) if cpus else None) as program:
        try:
            if program.stdout.readline() != "ready\n":
                raise SystemExit(f"error: {row.name} did not start: {' '.join(command)}")
            memory, = redis.info("used_memory")
            keys = redis.ask("DBSIZE")
            calls, cpu = redis.scripts(), redis.cpu_seconds()
            program.stdin.write("go\n")
            program.stdin.flush()
            answer = json.loads(program.stdout.readline())
            cpu = redis.cpu_seconds() - cpu
            calls = redis.scripts() - calls
        finally:
            if program.poll() is None:
                program.stdin.close()
                try:
                    program.wait(timeout=30)
                except subprocess.TimeoutExpired:
                    program.kill()
    check(row, load, answer)
    new_keys = redis.ask("DBSIZE") - keys
    return {
        "decisions_per_second": answer["decisions"] / answer["seconds"],
        "decisions_per_server_second": answer["decisions"] / cpu if cpu > 0 else None,
        "client_cpu_us": answer["cpu_seconds"] / answer["decisions"] * 1e6,
        "p50_us": answer["p50_us"],
        "p99_us": answer["p99_us"],
        "server_calls_per_decision": calls / answer["decisions"],
        "bytes_per_key": (redis.info("used_memory")[0] - memory) / new_keys if load.keys > 1 else None,
        "memory_usage": usage(redis) if load.keys > 1 else None,
    }


def usage(redis, sample=200):
    """MEMORY USAGE, the mean of some keys."""
    keys = [key for key in redis.ask("SCAN", 0, "COUNT", sample)[1] if b"numbers" not in key]
    return statistics.mean(redis.ask("MEMORY", "USAGE", key) for key in keys) if keys else None


def check(row, load, answer):
    decisions = row.decisions(load)
    expected = {"decisions": decisions, "allowed": load.allowed(decisions), "failed": 0}
    wrong = {name: answer[name] for name, value in expected.items() if answer[name] != value}
    if wrong:
        raise SystemExit(f"error: {row.name}, {load.name}: {wrong}, expected {expected}")


def instructions(row, load, build):
    """What the server executes per decision: a run of two turns against a run of one, so that start and end fall out."""
    def count(turns):
        once = rows.dataclasses.replace(load, turns=turns)
        same = rows.dataclasses.replace(row, share=1.0)
        out = ["valgrind", "--tool=callgrind", "--callgrind-out-file=FOLDER/callgrind"]
        with server.Server(out) as redis:
            measure(same, once, build, redis, None)
            redis.process.send_signal(signal.SIGTERM)
            redis.process.wait(timeout=120)
            redis.log.seek(0)
            return int(re.search(r"Collected : (\d+)", redis.log.read())[1]), same.decisions(once)
    (few, one), (many, two) = count(load.turns), count(2 * load.turns)
    # What the server is not asked costs it nothing; what differs then is how it started.
    return {"server_instructions": max(0, (many - few) / (two - one))}


def versions(build):
    def first_line(*command):
        try:
            return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()[0].strip()
        except (OSError, subprocess.CalledProcessError, IndexError):
            return None
    cpu = re.search(r"model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text())
    locked = json.loads((rows.HERE / "node/package.json").read_text())["dependencies"]
    modules = dict(re.findall(r"(redis_rate|go-redis)/v\d+ (v[\d.]+)", (rows.HERE / "go/go.mod").read_text()))
    return {
        "machine": f"{cpu[1] if cpu else platform.machine()}, {os.cpu_count()} cores, {platform.system()} {platform.release()}",
        "load_average_at_start": os.getloadavg()[0],
        "redis": first_line(os.environ.get("RATEL_REDIS_SERVER", "redis-server"), "--version"),
        "node": first_line("node", "--version"),
        "go": first_line("go", "version"),
        "ratel": (rows.HERE.parent.parent / "VERSION").read_text().strip(),
        **modules, **locked,
    }


def summarise(samples):
    """Of each figure the median, and how far apart lowest and highest are, as a fraction of it."""
    told = {}
    for name in samples[0]:
        values = [one[name] for one in samples if one[name] is not None]
        median = statistics.median(values) if values else None
        told[name] = median
        told[name + "_spread"] = (max(values) - min(values)) / median if values and median else 0
    return told


def wanted(row, only):
    if only == "native":
        return row.program in ("ratel", "bare")
    return not only or only in row.name or only == row.program


def available(row, build):
    """Whether its program is there; without Go or Node the others are measured alone."""
    if row.program == "node":
        return (rows.HERE / "node/node_modules").is_dir()
    return pathlib.Path(row.command(build, 0, rows.LOADS[0])[0]).exists()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="")
    parser.add_argument("--load", default="")
    for flag in ("--instructions", "--quick", "--write"):
        parser.add_argument(flag, action="store_true")
    arguments = parser.parse_args()
    if arguments.quick and arguments.write:
        parser.error("--quick measures nothing worth writing down")
    factor = 20 if arguments.quick else 40 if arguments.instructions else 1
    loads = [load if factor == 1 else load.smaller(factor) for load in rows.LOADS if arguments.load in ("", load.name)]
    plan = [(load, row) for load in loads for row in rows.ROWS
            if load.name in row.loads and wanted(row, arguments.only) and available(row, arguments.build)]
    if not plan:
        raise SystemExit("error: nothing to measure: see --only, and build the programs with scripts/bench redis")
    # The server on a core of its own, the clients on the others.
    cpus = sorted(os.sched_getaffinity(0))
    of_server, of_clients = ({cpus[-1]}, set(cpus[:-1])) if len(cpus) > 1 and not arguments.quick else (None, None)

    told = {"versions": versions(arguments.build), "rounds": 1 if arguments.quick else arguments.rounds, "loads": {}}
    started = time.monotonic()
    samples = {}
    if arguments.instructions:
        for load, row in plan:
            samples[load.name, row.name] = [instructions(row, load, arguments.build)]
            print(f"{load.name:8} {row.name:40} {samples[load.name, row.name][0]['server_instructions']:,.0f}", flush=True)
    else:
        with server.Server(cpus=of_server) as redis:
            for number in range(told["rounds"]):
                for load, row in plan:
                    one = measure(row, load, arguments.build, redis, of_clients)
                    samples.setdefault((load.name, row.name), []).append(one)
                    print(f"{number + 1}/{told['rounds']} {load.name:8} {row.name:40} {one['decisions_per_second']:10,.0f}/s", flush=True)
    told["seconds"] = time.monotonic() - started
    for load in loads:
        told["loads"][load.name] = {"what": load.what, "rows": {row: summarise(every) for (name, row), every in samples.items() if name == load.name}}
    text = table.instructions(told) if arguments.instructions else table.times(told)
    print("\n" + text)
    if arguments.write:
        RESULTS.mkdir(exist_ok=True)
        name = "redis-instructions" if arguments.instructions else "redis"
        (RESULTS / f"{name}.json").write_text(json.dumps(told, indent=1) + "\n")
        table.put(rows.HERE / "RESULTS.md", name, text)
    print(f"\n{len(plan)} rows measured in {told['seconds']:.0f} s, every answer as the limit says")


if __name__ == "__main__":
    sys.path.insert(0, str(rows.HERE))
    main()
