"""Targets 17 to 21 of docs/performance.md, out of what bench/redis and bench/instructions have measured."""

ALLOW_ASYNC, THREADS = "ratel rl_allow_async, 256 on the way", "ratel rl_allow_rule, 64 threads"
ALONE, SIXTEEN, SHARED = "ratel rl_allow_queued, batch=1", "ratel rl_allow_queued, batch=16", "ratel rl_allow_queued, 256 on the way"
FLEXIBLE, BY_HAND = "rate-limiter-flexible, ioredis", "token bucket in a hash (hiredis)"
REDIS_RATE = ("redis_rate, pool of 64", "redis_rate, automatic pipelines")
LEASES = "ratel rl_allow_queued, local_tier: leases"
SERVER, ALL, CLIENT = "decisions_per_server_second", "decisions_per_second", "client_cpu_us"


class Loads:
    def __init__(self, told):
        self.told = told

    def figure(self, load, name, figure):
        """(median, spread), or None."""
        row = (self.told or {"loads": {}})["loads"].get(load, {"rows": {}})["rows"].get(name)
        return (row[figure], row.get(figure + "_spread", 0) / 2) if row and row.get(figure) is not None else None

    def ratio(self, load, ours, theirs, figure, best=max):
        """Against the best of several; spreads add up."""
        our = self.figure(load, ours, figure)
        given = [one for one in (self.figure(load, name, figure) for name in theirs) if one]
        if not our or not given:
            return None
        their = best(given)
        return our[0] / their[0], our[1] + their[1]


def redis(judge, told):
    loads = Loads(told)
    for load, peers, said, least in (("allowed", [FLEXIBLE], "rate-limiter-flexible", 1.05), ("allowed", REDIS_RATE, "redis_rate, its better way", 1.2),
                                     ("allowed", [BY_HAND], "a token bucket in a hash", 1.25), ("denied", [FLEXIBLE], "rate-limiter-flexible, denied", 1.35)):
        judge.at_least(17, f"decisions per second of the server's processor, a script call each / {said}", loads.ratio(load, ALONE, peers, SERVER), least)
    judge.at_least(17, "the same, 16 to a script call / a call each", loads.ratio("allowed", SIXTEEN, [ALONE], SERVER), 1.6)
    judge.at_least(17, "the same, up to 64 to a script call / a call each", loads.ratio("allowed", SHARED, [ALONE], SERVER), 1.6)
    judge.at_least(18, "decisions per second, one connection with 256 on the way / 64 threads that wait", loads.ratio("allowed", ALLOW_ASYNC, [THREADS], ALL), 1.6)
    for peers, said in ((REDIS_RATE, "redis_rate, its better way"), ([FLEXIBLE], "ioredis and rate-limiter-flexible")):
        judge.at_least(18, f"decisions per second, 256 on the way / {said}", loads.ratio("allowed", ALLOW_ASYNC, peers, ALL), 1.5)
        judge.at_most(18, f"processor of the client, 256 on the way / {said}", loads.ratio("allowed", ALLOW_ASYNC, peers, CLIENT, min), 0.3)
    calls = loads.figure("hot", LEASES, "server_calls_per_decision")
    judge.at_most(19, "calls of the server for a decision on a hot key, leases", calls and (calls[0], 0), 1 / 50)
    judge.at_most(20, "bytes a key in Redis / a token bucket in a hash", loads.ratio("allowed", ALLOW_ASYNC, [BY_HAND], "bytes_per_key", min), 0.8)


def instructions(judge, budget):
    for case, count in (budget or {}).items():
        judge.at_most(21, f"instructions, `{case}`", (count, 0), None)
