"""Targets 13 to 16 of docs/performance.md, out of what bench/go, bench/node and bench/rust have measured. Their rows are as those of bench/decide: the
nanoseconds of each round."""

from figures import Figures, median_and_spread

GO_PEERS = ("x/time/rate in a map", "sethvargo/go-limiter", "throttled GCRA", "go-chi/httprate counter")
GOVERNORS = (("governor DashMap", "governor, DashMap"), ("governor HashMap (hashbrown)", "governor, hashbrown"))
FLEXIBLE, STORE = "rate-limiter-flexible memory", "express-rate-limit MemoryStore"
COUNTS = ((1_000, "1k"), (1_000_000, "1M"), (10_000_000, "10M"))


class Rows(Figures):
    def __init__(self, told):
        super().__init__(told["rows"] if told else [])

    def of(self, section, name, keys, threads=1):
        row = self.find(section, name=name, keys=keys, threads=threads)
        return row["ns"] if row else None

    def share(self, name, server):
        """What a middleware adds to a handler, over the processor time of a server without one."""
        added = [one - none for one, none in zip(self.of("middleware", name, 1) or [], self.of("middleware", "none", 1) or [])]
        return self.ratio(added, self.of(server, "none", 1))


def rust(judge, told):
    rows = Rows(told)
    for keys, count in COUNTS:
        for name, said in GOVERNORS:
            judge.at_least(13, f"Rust, {said} / `allow_rule`, {count} keys",
                           rows.ratio(rows.of("allowed", name, keys), rows.of("allowed", "ratel allow_rule", keys)), 3 if keys < 1_000_000 else 4)


    for name in ("allow", "allow_rule"):
        c, wrapped = rows.of("wrapper", f"rl_{name}", 1), rows.of("wrapper", f"ratel {name}", 1)
        judge.at_most(13, f"Rust, what the wrapper adds to `rl_{name}`, ns", c and wrapped and median_and_spread([b - a for a, b in zip(c, wrapped)]), 2)
    ours, theirs = (rows.find("allowed", name=name, keys=1_000_000, threads=1) for name in ("ratel allow_rule", GOVERNORS[0][0]))
    bytes_per_key = [row.get("bytes_per_key") if row else None for row in (ours, theirs)]
    judge.at_most(9, "bytes a key / governor's DashMap, 1M keys", (bytes_per_key[0] / bytes_per_key[1], 0) if all(bytes_per_key) else None, 1 / 3)
    judge.at_most(16, "axum, share of the layer in a request's processor time", rows.share("ratel", "http"), 0.02)
    judge.at_most(16, "the same of tower_governor (no target)", rows.share("tower_governor, with fields", "http"), None)


def go(judge, told):
    rows = Rows(told)
    for (keys, count), most in zip(COUNTS, (0.8, 0.6)):
        best = {threads: rows.least(*(rows.of("allowed", name, keys, threads) for name in GO_PEERS)) for threads in (1, 2)}
        for threads, said in ((1, "1 goroutine"), (2, "2 goroutines")):
            judge.at_most(14, f"Go, `Allow` / the best peer, {count} keys, {said}", rows.ratio(rows.of("allowed", "ratel Allow", keys, threads), best[threads]), most)
        judge.at_most(14, f"Go, `AllowManyInto` of 16 / the best peer, {count} keys", rows.ratio(rows.of("batch of 16", "ratel AllowManyInto", keys), best[1]), 0.25)
    judge.at_most(16, "Go net/http, share of the middleware in a request's processor time", rows.share("ratelhttp", "http"), 0.02)
    judge.at_most(16, "the same of go-chi/httprate (no target)", rows.share("go-chi/httprate", "http"), None)


def node(judge, told):
    rows = Rows(told)
    for keys, count in COUNTS[:2]:
        ours = rows.of("allowed", "ratel allow", keys)
        judge.at_most(15, f"Node, `allow` / rate-limiter-flexible, {count} keys", rows.ratio(ours, rows.of("allowed", FLEXIBLE, keys)), 0.25)
        judge.at_most(15, f"Node, `allow` / express-rate-limit's store, {count} keys", rows.ratio(ours, rows.of("allowed", STORE, keys)), 1.0)
        judge.at_most(15, f"Node, batches of 64 / rate-limiter-flexible one by one, {count} keys",
                      rows.ratio(rows.of("batch of 64", "ratel allow", keys), rows.of("allowed", FLEXIBLE, keys)), 0.1)
    judge.at_most(15, "Node, denied / rate-limiter-flexible, 1k keys", rows.ratio(rows.of("denied", "ratel allow", 1_000), rows.of("denied", FLEXIBLE, 1_000)), 0.1)
    judge.at_most(16, "node:http, share of the middleware in a request's processor time", rows.share("ratel", "node:http"), 0.03)
    judge.at_most(16, "the same of rate-limiter-flexible (no target)", rows.share("rate-limiter-flexible", "node:http"), None)


PARTS = (("rust", rust), ("go", go), ("node", node))
