"""Token and leaky bucket at their edges."""

from script import Vector, rule, rules


def refill_is_exact():
    v = Vector("token-refill-is-exact", ["semantics 3", "B045"],
               "7 per 3 s: a third of a microsecond is never lost, whatever instants are asked about.",
               rules(rule(limit=7, window="3s")))
    v.allow_n(0, 7, "A", user="u")
    v.allow(0, {"allowed": False, "retry": "0.428572"}, user="u")
    for at in ("0.1", "0.2", "0.3", "0.428571"):
        v.allow(at, "D", user="u")
    v.allow("0.428572", "A", user="u")
    v.allow("0.857142", "D", user="u")
    v.allow("0.857143", "A", user="u")
    v.peek("2.999999", {"remaining": 4}, user="u")
    v.peek("3", {"remaining": 5}, user="u")
    return v


def partly_grown():
    v = Vector("token-partly-grown", ["B009"], "1 per 1 s; a partly grown token shortens the wait: 800 ms, not 1000.",
               rules(rule(limit=1)))
    v.allow(0, "A", user="u")
    v.allow("0.2", {"allowed": False, "retry": "0.8"}, user="u")
    return v


def drained_then_one_interval():
    v = Vector("token-back-after-one-interval", ["B042"], "n per interval: drained, one interval later n are back.",
               rules(rule(limit=10, window="1m")))
    v.allow(0, {"allowed": True, "remaining": 0}, user="u", cost=10)
    v.allow(60, {"allowed": True, "remaining": 0}, user="u", cost=10)
    return v


def idle_is_capped():
    v = Vector("token-idle-is-capped", ["B087"], "3 per 500 ms, idle for 5 s: three pass, not four.",
               rules(rule(limit=3, window="500ms")))
    v.allow(0, "A", user="u")
    for at, want in (("5", "A"), ("5.01", "A"), ("5.02", "A"), ("5.05", "D")):
        v.allow(at, want, user="u")
    return v


def small_burst():
    v = Vector("token-small-burst", ["B090"], "6000 per min, burst 20, 154 at once: the burst passes, the rest come 10 ms apart.",
               rules(rule(limit=6000, window="1m", burst=20)))
    v.repeat(0, 154, 0, 20, user="u")
    v.allow(0, {"allowed": False, "retry": "0.01"}, user="u")
    v.repeat("0.01", 10, 10_000_000, 10, user="u")
    return v


def large_burst():
    v = Vector("token-large-burst", ["B024"], "1000 per 60 s with burst 1000: a thousand at once, then denied.",
               rules(rule(limit=1000, window="60s", burst=1000)))
    v.repeat(0, 1001, 0, 1000, user="u")
    v.allow(0, {"allowed": False, "retry": "0.06"}, user="u")
    return v


def fast_rate():
    v = Vector("token-fast-rate", ["B015"], "80,000 per s, polled every microsecond for 20 ms: never above the rate and the burst.",
               rules(rule(limit=80000, burst=1)))
    v.repeat(0, 20_000, 1000, 1539, user="u")
    return v


def costs():
    v = Vector("token-costs", ["semantics 2", "semantics 3"], "Costs wait for what they need; a smaller one may pass meanwhile.",
               rules(rule(limit=10, window="10s")))
    v.allow(0, {"allowed": True, "remaining": 3, "cost": 7}, user="u", cost=7)
    v.allow(0, {"allowed": False, "remaining": 3, "retry": 1}, user="u", cost=4)
    v.allow(0, {"allowed": False, "retry": 7}, user="u", cost=10)
    v.allow(0, {"allowed": True, "remaining": 0}, user="u", cost=3)
    v.allow("9.999999", "D", user="u", cost=10)
    v.allow(10, "A", user="u", cost=10)
    return v


def never_fits():
    v = Vector("never-fits", ["semantics 5", "B030", "B033", "B036", "B006"],
               "A cost above the capacity is denied at once, has no wait, and is not charged.",
               rules(rule(limit=6, window="1m"), rule("windows", limit=5, algorithm="sliding_log", path="/w")))
    never = {"allowed": False, "reason": "never_fits", "retry": "never", "remaining": 6, "capacity": 6, "reset": 0}
    denied = v.allow(0, never, user="u", path="/", cost=10)
    v.headers(denied, want=["X-RateLimit-Limit: 6", "X-RateLimit-Remaining: 6", "X-RateLimit-Reset: 1700006400"])
    v.allow(0, {"allowed": True, "remaining": 5}, user="u", path="/")
    v.allow(0, {"reason": "never_fits", "remaining": 5}, user="u", path="/", cost=7)
    v.allow(0, {"allowed": True, "remaining": 0}, user="u", path="/", cost=5)
    v.allow(0, {"reason": "never_fits", "capacity": 5}, user="u", path="/w", cost=6)
    v.metrics(0, ["r", "windows"], {"requests": 5, "denied": 3, "never_fits": 3})
    return v


def cost_is_checked():
    v = Vector("cost-is-checked", ["semantics 5", "B018"], "Cost 0 and negative costs are refused, and change nothing.",
               rules(rule(limit=2)))
    for cost in (0, -1, -(2**63) + 1):
        v.allow(0, "RL_E_INVALID_ARGUMENT", user="u", cost=cost)
        v.peek(0, "RL_E_INVALID_ARGUMENT", user="u", cost=cost)
    v.allow(0, {"allowed": True, "remaining": 1}, user="u")
    v.allow(0, {"allowed": False, "reason": "never_fits"}, user="u", cost=2**63 - 1)
    v.metrics(0, ["r"], {"requests": 2})
    return v


def rule_cost():
    v = Vector("rule-cost", ["semantics 7"], "A rule's own cost holds for requests that state none.",
               rules(rule("export", limit=10, window="1m", cost=4, path="/export")))
    v.allow(0, {"cost": 4, "remaining": 6}, user="u", path="/export")
    v.allow(0, {"cost": 1, "remaining": 5}, user="u", path="/export", cost=1)
    return v


def leaky_drains():
    v = Vector("leaky-drains", ["B057"], "10 per 30 s, a hit a second, 11 hits: the leak is not lost by looking often.",
               rules(rule(algorithm="leaky_bucket", limit=10, window="30s")))
    for at, left in enumerate((9, 8, 7, 7, 6, 5, 5, 4, 3, 3, 2)):
        v.allow(at, {"allowed": True, "remaining": left}, user="u")
    return v


def leaky_reset():
    v = Vector("leaky-reset-covers-all", ["B060"], "The reset covers the whole queue, not one hit.",
               rules(rule(algorithm="leaky_bucket", limit=10, window="10s")))
    v.allow(0, {"reset": 3, "delay": 0}, user="u", cost=3)
    v.allow(0, {"reset": 7, "delay": 3, "remaining": 3}, user="u", cost=4)
    v.allow(0, {"allowed": False, "retry": 1, "reset": 7, "delay": 0}, user="u", cost=4)
    v.allow("6.5", {"reset": "1.5", "delay": "0.5"}, user="u")
    return v


def leaky_is_a_queue():
    v = Vector("leaky-is-a-queue", ["B252"], "10 queued, 1 per s: each waits for those before it, the last 9 s.",
               rules(rule(algorithm="leaky_bucket", limit=1, burst=10)))
    for place in range(10):
        v.allow(0, {"allowed": True, "delay": place}, user="u")
    v.allow(0, {"allowed": False, "retry": 1}, user="u")
    return v


def leaky_rounds_up():
    v = Vector("leaky-delay-rounds-up", ["semantics 1"], "A delay is whole microseconds, rounded up.",
               rules(rule(algorithm="leaky_bucket", limit=3, window="1s", burst=4)))
    v.allow(0, {"delay": 0}, user="u")
    v.allow(0, {"delay": "0.333334"}, user="u")
    v.allow("0.1", {"delay": "0.566667"}, user="u")
    return v


def large_numbers():
    top = 2**53 - 1
    v = Vector("large-numbers", ["semantics 3", "B021", "B039"],
               "A billion and one per second stays exact; a limit of 2^53 - 1 is refused where it cannot be.",
               rules(rule(limit=1_000_000_001, burst=5)), ticks={"r/r": 1})
    v.allow_n(0, 5, "A", user="u")
    v.allow(0, {"allowed": False, "retry": "0.000001"}, user="u")
    v.allow("0.000001", {"allowed": True, "remaining": 4}, user="u")
    v.load("RL_E_CONFIG", rules(rule(limit=top, window="10s")))
    v.load("RL_E_CONFIG", rules(rule(limit=10, window="10s", burst=top)))
    v.load("RL_E_CONFIG", rules(rule(limit=top + 1, window="10s")))
    return v


def ten_years():
    v = Vector("ten-years", ["semantics 3"], "The longest windows work: one in ten years.",
               rules(rule(limit=1, window="3650d")), base=10**9)
    v.allow(0, {"allowed": True, "reset": 3650 * 86400}, user="u")
    v.allow(86400, {"allowed": False, "retry": 3649 * 86400}, user="u")
    v.allow(3650 * 86400, "A", user="u")
    return v


def sub_microsecond():
    v = Vector("nanoseconds-are-floored", ["semantics 1"], "Instants are floored to the microsecond, waits are whole ones.",
               rules(rule(limit=1, window="10us")))
    v.allow("999ns", "A", user="u")
    v.allow("1999ns", {"allowed": False, "retry": "0.000009"}, user="u")
    v.allow("9999ns", {"allowed": False, "retry": "0.000001"}, user="u")
    v.allow("10000ns", "A", user="u")
    return v


def coarse_ticks():
    v = Vector("coarse-ticks", ["semantics 3"],
               "150,000,001 per day is exact at a tick of 10 ms: decided at the tick before, waits to the start of the next.",
               rules(rule(limit=150_000_001, window="1d")), ticks={"r/r": 10_000})
    v.allow(0, {"allowed": True, "remaining": 1}, user="u", cost=150_000_000)
    v.allow(0, {"allowed": False, "retry": "0.01"}, user="u", cost=10)
    v.allow("0.003", {"allowed": False, "retry": "0.007"}, user="u", cost=10)
    v.allow("0.009999", {"allowed": False, "retry": "0.000001"}, user="u", cost=10)
    v.allow("0.01", {"allowed": True}, user="u", cost=10)
    return v


def own_phase():
    v = Vector("own-phase", ["B084"], "Two keys that begin apart in time have phases of their own.",
               rules(rule(limit=1, window="10s")))
    v.allow(0, {"allowed": True, "reset": 10}, user="a")
    v.allow(3, {"allowed": True, "reset": 10}, user="b")
    v.allow(10, "A", user="a")
    v.allow(10, {"allowed": False, "retry": 3}, user="b")
    v.allow(13, "A", user="b")
    return v


def the_last_unit():
    v = Vector("the-tenth-of-ten", ["B195"], "Limit 10, nine used: the tenth passes, the eleventh does not.",
               rules(*(rule(name, algorithm=name, limit=10, window="1h", path=f"/{name}")
                       for name in ("token_bucket", "leaky_bucket", "fixed_window", "sliding_log", "sliding_counter"))))
    for one in v.rules["rules"]:
        v.allow(0, {"remaining": 1}, user="u", path=one["path"], cost=9)
        v.allow(0, {"allowed": True, "remaining": 0}, user="u", path=one["path"])
        v.allow(0, {"allowed": False, "remaining": 0}, user="u", path=one["path"])
    return v


def below_zero():
    v = Vector("below-zero-mints-nothing", ["B012"], "50 per s, charged late below zero: nothing is left, and nothing is minted by asking.",
               rules(rule(limit=50)))
    first = v.allow(0, {"remaining": 0}, user="u", cost=50)
    v.settle(0, first, 80, {"remaining": 0, "reset": "1.6"})
    v.allow(0, {"allowed": False, "remaining": 0, "retry": "0.62", "reset": "1.6"}, user="u")
    v.allow("0.6", {"allowed": False, "remaining": 0, "retry": "0.02"}, user="u")
    v.allow("0.62", {"allowed": True, "remaining": 0}, user="u")
    return v


def coarse_counter():
    v = Vector("coarse-ticks-counter", ["semantics 3"],
               "A sliding counter of 1,500,000 per day is exact at a tick of 100 us; waits end where a tick begins.",
               rules(rule(algorithm="sliding_counter", limit=1_500_000, window="1d")), ticks={"r/r": 100})
    v.allow(0, {"remaining": 0}, user="u", cost=1_500_000)
    denied = v.allow("0.000042", {"allowed": False, "retry": "86400.057558"}, user="u")
    wait = int(v.decisions[denied][0]["retry_after_ns"])
    v.allow(f"{42_000 + wait - 1000}ns", {"allowed": False, "retry": "0.000001"}, user="u")
    v.allow(f"{42_000 + wait}ns", "A", user="u")
    return v


def peeked_queue():
    v = Vector("leaky-peek-tells-the-delay", ["semantics 5"], "A peek tells the delay that the request would carry.",
               rules(rule(algorithm="leaky_bucket", limit=1, burst=5)))
    v.allow(0, {"delay": 0}, user="u", cost=3)
    v.peek("0.5", {"allowed": True, "delay": "2.5", "remaining": 2}, user="u")
    v.allow("0.5", {"allowed": True, "delay": "2.5", "remaining": 1}, user="u")
    return v


def vectors():
    return [refill_is_exact(), partly_grown(), drained_then_one_interval(), idle_is_capped(), small_burst(), large_burst(),
            fast_rate(), costs(), never_fits(), cost_is_checked(), rule_cost(), leaky_drains(), leaky_reset(),
            leaky_is_a_queue(), own_phase(), the_last_unit(), below_zero(), coarse_counter(), peeked_queue(), leaky_rounds_up(), large_numbers(), ten_years(), sub_microsecond(), coarse_ticks()]
