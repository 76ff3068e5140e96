#!/usr/bin/env python3
"""report.py: makes of bench/results/*.json the tables of bench/README.md and docs/performance.md, and the charts. Measures nothing."""

import json
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
for folder in ("decide", "instructions", "redis"):
    sys.path.insert(0, str(HERE / folder))

import binding_targets  # noqa: E402
import charts  # noqa: E402
import redis_targets  # noqa: E402
from figures import Figures  # noqa: E402
from judge import Judge  # noqa: E402
from table import put  # noqa: E402

import by_file  # noqa: E402
import memory_targets  # noqa: E402
import tables  # noqa: E402

README, DOCUMENT = HERE / "README.md", HERE.parent / "docs/performance.md"


def of(name):
    path = HERE / name
    return json.loads(path.read_text()) if path.exists() else None


def judged(decide, redis, budget):
    judge = Judge()
    for part in memory_targets.PARTS:
        part(judge, Figures(decide["rows"] if decide else []))
    for language, part in binding_targets.PARTS:
        part(judge, of(f"results/{language}.json"))
    redis_targets.redis(judge, redis)
    redis_targets.instructions(judge, budget)
    heads = [f"In memory: {tables.head(decide)}"] if decide else []
    return "\n\n".join([*heads, judge.summary(), judge.table()])


def main():
    decide, scale, redis, profile = (of(f"results/{name}.json") for name in ("decide", "scale", "redis", "profile"))
    if decide:
        put(README, "decide", tables.decide(decide))
    for language, _ in binding_targets.PARTS:
        told = of(f"results/{language}.json")
        if told:
            put(README, language, tables.binding(told))
    if scale:
        put(DOCUMENT, "scale", tables.scale(scale))
    put(DOCUMENT, "targets", judged(decide, redis, of("instructions/budget.json")))
    if profile:
        put(DOCUMENT, "profile", by_file.table(profile))
    charts.main()


if __name__ == "__main__":
    main()
