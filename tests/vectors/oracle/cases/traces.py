"""Long seeded random traces: every algorithm, several limits, costs, clocks that step, settling, reloads."""

from engine import window_us
from script import BASE_NS, Vector, limit, rules

ALL = ("token_bucket", "leaky_bucket", "fixed_window", "sliding_log", "sliding_counter")
WINDOWS = ("1s", "7s", "250ms", "60s", "3s", "100us", "1h")
STEPS = 200


class Random:
    """SplitMix64: the same numbers in every version of every language."""

    def __init__(self, seed):
        self.state = seed

    def next(self):
        self.state = (self.state + 0x9E3779B97F4A7C15) % 2**64
        z = self.state
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
        return z ^ (z >> 31)

    def below(self, n):
        return self.next() % n

    def pick(self, some):
        return some[self.below(len(some))]

    def chance(self, percent):
        return self.below(100) < percent


def random_limit(r, algorithm, name, scope):
    units = 1 + r.below(20)
    out = limit(scope, algorithm, units, r.pick(WINDOWS), name=name)
    if algorithm.endswith("bucket") and r.chance(40):
        out["burst"] = 1 + r.below(30)
    return out


def random_file(r, algorithms):
    scopes = ("user", "global", "user", "ip")
    limits = [random_limit(r, algorithm, f"l{i}", scopes[i % len(scopes)]) for i, algorithm in enumerate(algorithms)]
    if len(limits) > 2:
        limits[-1]["shadow"] = True
    return rules({"name": "r", "limits": limits})


def other_numbers(r, file):
    """The same limits with other numbers."""
    limits = []
    for one in file["rules"][0]["limits"]:
        changed = dict(one, limit=1 + r.below(25), window=r.pick(WINDOWS))
        if "burst" in one:
            changed["burst"] = 1 + r.below(30)
        limits.append(changed)
    return rules({"name": "r", "limits": limits})


class Trace:
    def __init__(self, seed, algorithms, backwards=False, settles=False, reloads=False):
        self.r = Random(seed)
        self.file = random_file(self.r, algorithms)
        self.backwards, self.settles, self.reloads = backwards, settles, reloads
        what = [name for name, on in (("backwards", backwards), ("settles", settles), ("reloads", reloads)) if on]
        name = "-".join([f"trace-{seed}", *dict.fromkeys(algorithms), *what])
        self.v = Vector(name, ["semantics 2 to 9"], "A seeded random trace.", self.file, base=BASE_NS + self.r.below(10**12) * 1000)
        # A store may drop what equals new at a later instant; so only a lone client's clock can be turned back and stay exact.
        self.users, self.ips = ("a", ["192.0.2.1"]) if backwards else ("abc", ["192.0.2.1", "2001:db8::1"])
        self.now = 0
        self.last_wait = 0
        self.spent = []

    def longest_us(self):
        return max(window_us(one["window"]) for one in self.file["rules"][0]["limits"])

    def advance(self):
        r, choice = self.r, self.r.below(100)
        spec = r.pick(self.file["rules"][0]["limits"])
        window = window_us(spec["window"])
        if self.backwards and choice < 10:
            step = -r.below(window)
        elif self.backwards and choice < 13:
            step = -3 * self.longest_us()
        elif choice < 35:
            step = 0
        elif choice < 55 and self.last_wait:
            step = self.last_wait + r.pick((-1, 0, 0, 1))
        elif choice < 97:
            step = r.below(2 * window // spec["limit"] + 2)
        else:
            step = r.below(2 * self.longest_us())
        self.now = max(self.now + step, 0)

    def at(self):
        return f"{self.now * 1000 + self.r.below(3) * 333}ns"

    def decide(self):
        r, v = self.r, self.v
        request = {"user": r.pick(self.users), "ip": r.pick(self.ips)}
        if r.chance(30):
            request["cost"] = 1 + r.below(6)
        step = (v.peek if r.chance(10) else v.allow)(self.at(), **request)
        answer = v.decisions[step][0]
        wait_us = int(answer["retry_after_ns"]) // 1000
        self.last_wait = wait_us if wait_us < 10 * self.longest_us() else 0
        if answer["allowed"] and not answer["peeked"] and not answer["shadow_denied"]:
            self.spent.append(step)

    def run(self):
        while len(self.v.steps) < STEPS:
            self.advance()
            if self.settles and self.spent and self.r.chance(15):
                of = self.spent.pop(self.r.below(len(self.spent)))
                self.v.settle(self.at(), of, self.r.below(10))
            elif self.reloads and self.r.chance(4):
                self.file = other_numbers(self.r, self.file)
                self.v.reload(self.at(), self.file)
            elif self.r.chance(1):
                self.v.reset(self.at(), user=self.r.pick(self.users), ip="192.0.2.1")
            else:
                self.decide()
        return self.v


def vectors():
    out = [Trace(seed, [algorithm]).run() for seed, algorithm in enumerate(ALL, 1)]
    out += [Trace(seed, [algorithm], backwards=True).run() for seed, algorithm in enumerate(ALL, 11)]
    out += [Trace(seed, [algorithm], settles=True).run() for seed, algorithm in enumerate(ALL, 21)]
    out += [Trace(31, ["token_bucket", "fixed_window"]).run(),
            Trace(32, ["sliding_counter", "leaky_bucket", "sliding_log"]).run(),
            Trace(33, ["sliding_log", "token_bucket", "fixed_window"], backwards=True).run(),
            Trace(34, ["leaky_bucket", "sliding_counter"], settles=True).run(),
            Trace(35, ["fixed_window"], reloads=True).run(),
            Trace(36, ["token_bucket"], reloads=True).run()]
    return out
