"""Who is measured, and under which load."""

import dataclasses
import math
import pathlib

HERE = pathlib.Path(__file__).resolve().parent


@dataclasses.dataclass(frozen=True)
class Row:
    name: str
    program: str  # native programs by name, else "go" or "node"
    mode: str
    in_flight: int
    share: float = 1.0  # of the decisions: callers that wait one by one are slower
    loads: tuple = ("allowed", "denied")

    def command(self, build, port, load):
        programs = {"ratel": [build / "bench_redis_ratel"], "bare": [build / "bench_redis_bare"], "go": [build / "bench_redis_go"],
                    "node": ["node", HERE / "node/main.js"]}
        numbers = [port, load.keys, self.decisions(load), load.limit, self.in_flight]
        return [str(part) for part in [*programs[self.program], self.mode, *numbers]]

    def decisions(self, load):
        """Whole turns through the keys, so that it is known what a limit admits."""
        return load.keys * max(1, round(load.turns * self.share))


@dataclasses.dataclass(frozen=True)
class Load:
    name: str
    what: str
    keys: int
    turns: int  # how often each key is asked
    limit: int  # a key's units per day

    def allowed(self, decisions):
        return self.keys * min(decisions // self.keys, self.limit)

    def smaller(self, factor):
        """The same in small, for smoke runs and for counting: still so many that a server's start and end do not show."""
        keys = max(1, self.keys // 10)
        turns = math.ceil(max(self.turns / factor, 4000 / keys))
        limit = max(1, turns // 10) if self.name == "denied" else self.limit
        return dataclasses.replace(self, what=f"{self.what}, in small", keys=keys, turns=turns, limit=limit)


LOADS = [
    Load("allowed", "20,000 keys, everything allowed", 20_000, 8, 1_000),
    Load("denied", "2,000 keys of limit 8, nine in ten denied", 2_000, 80, 8),
    Load("hot", "one key, everything allowed", 1, 160_000, 10_000_000),
]

ROWS = [
    Row("ratel rl_allow_rule, 1 thread", "ratel", "blocking", 1, 0.12),
    Row("ratel rl_allow_rule, 64 threads", "ratel", "blocking", 64, 0.5),
    Row("ratel rl_allow_many of 16, 16 threads", "ratel", "many", 16),
    Row("ratel rl_allow_async, 256 on the way", "ratel", "async", 256),
    Row("ratel rl_allow_queued, 256 on the way", "ratel", "queued", 256, loads=("allowed", "denied", "hot")),
    Row("ratel rl_allow_queued, batch=16", "ratel", "queued_16", 256),
    Row("ratel rl_allow_queued, batch=1", "ratel", "queued_alone", 256, loads=("allowed", "denied", "hot")),
    Row("ratel rl_allow_rule, 1 thread, local_tier: denials", "ratel", "blocking_denials", 1, loads=("denied",)),
    Row("ratel rl_allow_queued, local_tier: denials", "ratel", "queued_denials", 256, loads=("denied",)),
    Row("ratel rl_allow_rule, 1 thread, local_tier: leases", "ratel", "blocking_leases", 1, loads=("hot",)),
    Row("ratel rl_allow_queued, local_tier: leases", "ratel", "queued_leases", 256, loads=("hot",)),
    Row("redis_rate, pool of 64", "go", "pool", 256, 0.5, loads=("allowed", "denied", "hot")),
    Row("redis_rate, automatic pipelines", "go", "pipeline", 256, 0.5),
    Row("rate-limiter-flexible, ioredis", "node", "plain", 256, loads=("allowed", "denied", "hot")),
    Row("token bucket in a hash (hiredis)", "bare", "hash", 256, loads=("allowed", "denied", "hot")),
    Row("INCR, EXPIRE (hiredis)", "bare", "incr", 256),
]
