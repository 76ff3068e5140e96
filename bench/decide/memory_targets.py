"""Targets 1 to 12 of docs/performance.md, out of what bench_decide has measured. A target of None is told beside the others and not judged."""

import statistics

from figures import median_and_spread

BOOST, STRIPED, GROWING_BOOST = "boost flat map, tuned", "striped mutex map", "boost flat map"
RULE, MANY = "rl_allow_rule", "rl_allow_many, rule given"
BATCH = "batch of 32"


def short(keys):
    return f"{keys // 1_000_000}M" if keys >= 1_000_000 else f"{keys // 1_000}k"


def said(threads):
    return "1 thread" if threads == 1 else f"{threads} threads"


def tables(judge, figures):
    for keys, most in ((1_000_000, 1.20), (10_000_000, 1.25)):
        shape = f"{keys} uniform"
        judge.at_most(1, f"isolated `rl_allow_rule` / one line, {short(keys)} keys",
                      figures.ratio(figures.ns("tables", RULE, shape, "isolated"), figures.ns("tables", "floor: line", shape, "isolated")), most)
    for keys in (1_000_000, 10_000_000):
        shape = f"{keys} uniform"
        judge.at_most(2, f"batch of 32 / prefetch and line, {short(keys)} keys",
                      figures.ratio(figures.ns("tables", MANY, shape, BATCH), figures.ns("tables", "floor: prefetch and line", shape, BATCH)), 1.3)
    shape = "10000000 uniform"
    for peer, tuned in ((STRIPED, ""), (STRIPED + ", tuned", ", tuned (no target)")):
        for threads in (1, 2):
            theirs = figures.ns("tables", peer, shape, threads=threads)
            single = figures.ratio(theirs, figures.ns("tables", RULE, shape, threads=threads))
            batch = figures.ratio(theirs, figures.ns("tables", MANY, shape, BATCH, threads))
            judge.at_least(3, f"striped map{tuned} / `rl_allow_rule`, 10M keys, {said(threads)}", single, None if tuned else 9)
            judge.at_least(3, f"striped map{tuned} / batch of 32, 10M keys, {said(threads)}", batch, None if tuned else 40)
    for keys, least in ((1_000, 1.3), (1_000_000, 2.5), (10_000_000, 2.5)):
        for threads in (1, 2):
            shape = f"{keys} uniform"
            judge.at_least(4, f"boost flat map, tuned / `rl_allow_rule`, {short(keys)} keys, {said(threads)}",
                           figures.ratio(figures.ns("tables", BOOST, shape, threads=threads), figures.ns("tables", RULE, shape, threads=threads)), least)
    for keys in (1_000_000, 10_000_000):
        shape = f"{keys} uniform"
        judge.at_least(4, f"boost bulk visit / batch of 32, {short(keys)} keys (no target)",
                       figures.ratio(figures.ns("tables", "boost flat map, bulk visit", shape, BATCH), figures.ns("tables", MANY, shape, BATCH)), None)
    judge.at_most(5, "`rl_allow_rule` / hash and line, 1k keys",
                  figures.ratio(figures.ns("tables", RULE, "1000 uniform"), figures.ns("tables", "floor: hash and line", "1000 uniform")), 2.0)


def rules(judge, figures):
    def more(shape, name="rl_allow, one path"):
        whole, known = figures.ns("rules", name, shape), figures.ns("rules", RULE, shape)
        return [a - b for a, b in zip(whole, known)] if whole and known else None
    middle = more("1000")
    judge.at_most(6, "`rl_allow` minus `rl_allow_rule`, 1,000 rules, ns", middle and median_and_spread(middle), 120)
    for shape, count in (("10", "10"), ("100000", "100,000")):
        judge.at_most(6, f"the same with {count} rules / with 1,000", figures.ratio(more(shape), middle), 1.5)
    far = more("100000", "rl_allow, all paths")
    judge.at_most(6, "100,000 rules, each in turn: ns (no target)", far and median_and_spread(far), None)


def hot(judge, figures):
    def ns(name, shape, threads):
        return figures.ns("hot", name, shape, threads=threads)
    ours = ns(RULE, "denied", 2)
    boost = figures.least(ns(BOOST, "denied", 2), ns("boost flat map, look first", "denied", 2))
    judge.at_least(7, "denied hot key, 2 threads / 1", figures.ratio(ns(RULE, "denied", 1), ours), 1.8)
    judge.at_least(7, "denied hot key, 2 threads: best of boost / `rl_allow_rule`", figures.ratio(boost, ours), 5)
    judge.at_least(7, "denied hot key, 2 threads: striped map / `rl_allow_rule`", figures.ratio(ns(STRIPED, "denied", 2), ours), 15)
    ours = ns(RULE, "allowed", 2)
    judge.at_least(8, "allowed hot key, 2 threads: boost, tuned / `rl_allow_rule`", figures.ratio(ns(BOOST, "allowed", 2), ours), 1.4)
    judge.at_least(8, "allowed hot key, 2 threads: striped map / `rl_allow_rule`", figures.ratio(ns(STRIPED, "allowed", 2), ours), 3)


def memory(judge, figures):
    grown = {name: figures.find("growth", name=name) for name in ("ratel", STRIPED, GROWING_BOOST)}
    ours = grown["ratel"] and grown["ratel"]["bytes_per_key"]
    judge.at_most(9, "bytes a key, 1M to 16M keys, mean", ours and (statistics.mean(ours), 0), 42)
    judge.at_most(9, "bytes a key, 1M to 16M keys, most", ours and (max(ours), 0), 56)
    for name, whose in ((STRIPED, "the striped map's"), (GROWING_BOOST, "boost's (no target)")):
        theirs = grown[name] and grown[name]["bytes_per_key"]
        judge.at_most(9, f"mean / {whose}", ours and theirs and (statistics.mean(ours) / statistics.mean(theirs), 0), 1 / 3 if name == STRIPED else None)
    ours = figures.inserts("ratel")
    for name, most in ((STRIPED, 1 / 20), (STRIPED + ", tuned", None), (GROWING_BOOST, None)):
        judge.at_most(10, f"longest insert on the way to 4M keys, its thread's time / {name}'s{'' if most else ' (no target)'}", figures.ratio(ours, figures.inserts(name)), most)
    churn = figures.find("churn")
    if churn:
        after = churn["resident_bytes"][5:]
        judge.at_most(11, "40M keys that come once: resident bytes, most after 5M / at 5M", (max(after) / churn["resident_bytes"][4], 0), 1.05)
        judge.at_most(11, "40M keys that come once: bytes for each of the million alive", (max(after) / churn["alive"], 0), 70)
    exact = [row for row in figures.rows if row["section"] == "exact"]
    if exact:
        right = sum(row["admitted"] == row["capacity"] for row in exact)
        judge.at_least(12, "algorithms that admit exactly the capacity under growth and reloads, of five", (right, 0), 5)


PARTS = (tables, rules, hot, memory)
