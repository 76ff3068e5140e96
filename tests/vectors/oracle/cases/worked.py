"""The worked values of semantics 2."""

from script import Vector, rule, rules

ALL = ("token_bucket", "leaky_bucket", "fixed_window", "sliding_log", "sliding_counter")
WAIT = {"token_bucket": "0.2", "leaky_bucket": "0.2", "fixed_window": 1, "sliding_log": 1, "sliding_counter": "1.2"}


def seven_at_once(algorithm):
    v = Vector(f"seven-at-once-{algorithm}", ["semantics 2"],
               "Limit 5 per 1 s, seven requests at one instant: five pass, and the wait is tight.",
               rules(rule(algorithm=algorithm)))
    for left in (4, 3, 2, 1, 0):
        v.allow(0, {"allowed": True, "remaining": left, "retry": 0}, user="u")
    v.allow_n(0, 2, {"allowed": False, "remaining": 0, "retry": WAIT[algorithm]}, user="u")
    wait_ns = round(float(WAIT[algorithm]) * 10**9)
    v.allow(f"{wait_ns - 1000}ns", "D", user="u")
    v.allow(f"{wait_ns}ns", "A", user="u")
    return v


def over_the_border(algorithm, second):
    v = Vector(f"over-the-border-{algorithm}", ["semantics 2", "B075"],
               "Limit 5 per 1 s, five at 0.9 s and five at 1.0 s.", rules(rule(algorithm=algorithm)))
    v.allow_n("0.9", 5, "A", user="u")
    v.allow_n(1, 5, second, user="u")
    return v


def log_of_three():
    v = Vector("log-three-per-minute", ["semantics 2", "B048"], "Sliding log, 3 per 60 s: A A A D D A D A.",
               rules(rule(algorithm="sliding_log", limit=3, window="60s")))
    for at, want in zip(("0", "10", "20", "30", "59", "60.5", "61", "75"), "AAADDADA"):
        v.allow(at, want, user="u")
    return v


def five_a_minute():
    v = Vector("token-five-per-minute", ["semantics 2"], "Token bucket, 5 per 60 s: after five at once, Retry-After: 12.",
               rules(rule(limit=5, window="60s")))
    v.allow_n(0, 5, "A", user="u")
    denied = v.allow(0, {"allowed": False, "retry": 12, "reset": 60}, user="u")
    v.headers(denied, want=["X-RateLimit-Limit: 5", "X-RateLimit-Remaining: 0", "X-RateLimit-Reset: 1700006460",
                            "Retry-After: 12"])
    return v


def leaky_delays():
    v = Vector("leaky-delays", ["semantics 2"], "Leaky bucket, 1 per 1 s, burst 5, three at once: delays 0, 1, 2 s.",
               rules(rule(algorithm="leaky_bucket", limit=1, burst=5)))
    for delay in (0, 1, 2):
        v.allow(0, {"allowed": True, "delay": delay, "capacity": 5}, user="u")
    return v


def burst_keeps_the_rate():
    v = Vector("burst-keeps-the-rate", ["semantics 1"],
               "Limit 60 per 60 s with burst 10 is one per second on average, ten at once.",
               rules(rule(limit=60, window="60s", burst=10)))
    v.allow_n(0, 10, "A", user="u")
    v.allow(0, {"allowed": False, "retry": 1, "limit": 60, "capacity": 10}, user="u")
    v.allow(1, {"allowed": True, "remaining": 0, "reset": 10}, user="u")
    v.allow("1.999999", {"allowed": False, "retry": "0.000001"}, user="u")
    v.allow(2, "A", user="u")
    return v


def vectors():
    return [*map(seven_at_once, ALL), over_the_border("fixed_window", "A"), over_the_border("sliding_counter", "D"),
            over_the_border("token_bucket", None), log_of_three(), five_a_minute(), leaky_delays(),
            burst_keeps_the_rate()]
