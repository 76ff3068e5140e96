"""Clocks that step, and the firewall against bad ones (semantics 4)."""

from script import Vector, limit, rule, rules

ALL = ("token_bucket", "leaky_bucket", "fixed_window", "sliding_log", "sliding_counter")
MINUTE = 60


def backward_step(algorithm):
    v = Vector(f"backward-step-{algorithm}", ["semantics 4", "B096"],
               "The clock steps back 11 s: no refill, no penalty; waits are measured from the instant of the request.",
               rules(rule(algorithm=algorithm, limit=5, window="1m")))
    v.allow_n(65, 3, "A", user="u")
    v.allow(54, {"allowed": True, "remaining": 1}, user="u")
    v.allow(54, {"allowed": True, "remaining": 0}, user="u")
    denied = v.allow(54, "D", user="u")
    v.allow(65, "D", user="u")
    wait = int(v.decisions[denied][0]["retry_after_ns"])
    v.allow(f"{54 * 10**9 + wait - 1000}ns", "D", user="u")
    v.allow(f"{54 * 10**9 + wait}ns", "A", user="u")
    return v


def firewall(algorithm):
    v = Vector(f"clock-firewall-{algorithm}", ["semantics 4"],
               "Spent under a clock that was an hour ahead: pulled back to now with the level kept, so one window locks at most.",
               rules(rule(algorithm=algorithm, limit=5, window="1m")))
    v.allow(3600, "A", user="u", cost=5)
    v.peek(0, "D", user="u")
    denied = v.allow(0, "D", user="u")
    wait = int(v.decisions[denied][0]["retry_after_ns"])
    assert wait <= 2 * MINUTE * 10**9
    v.allow(f"{wait - 1000}ns", "D", user="u")
    v.allow(f"{wait}ns", "A", user="u")
    return v


def firewall_kept_on_denial():
    v = Vector("firewall-is-kept-on-a-denial", ["semantics 4"],
               "The repair is stored although the request is denied: asking again and again does not lock the key.",
               rules(rule(limit=1, window="10s"), rule("log", algorithm="sliding_log", limit=1, window="10s", path="/log")))
    v.allow(10**5, "A", user="u", path="/")
    v.allow(10**5, "A", user="u", path="/log")
    for second in range(0, 10):
        v.allow(second, {"allowed": False, "retry": 10 - second}, user="u", path="/")
        v.allow(second, {"allowed": False, "retry": 10 - second}, user="u", path="/log")
    v.allow(10, "A", user="u", path="/")
    v.allow(10, "A", user="u", path="/log")
    return v


def firewall_edge():
    v = Vector("firewall-edge", ["semantics 4"], "One window ahead is not too far, one microsecond more is.",
               rules(rule(limit=2, window="10s")))
    v.allow(20, {"allowed": True, "remaining": 1}, user="at")
    v.allow(10, {"allowed": True, "remaining": 0, "reset": 20}, user="at")
    v.allow("20.000001", "A", user="past")
    v.allow(10, {"allowed": True, "remaining": 0, "reset": 10}, user="past")
    return v


def firewall_edge_of_windows():
    v = Vector("firewall-edge-of-windows", ["semantics 4"], "One window ahead is not too far for counts and entries either.",
               rules(rule("counter", algorithm="sliding_counter", limit=10, window="10s", path="/counter"),
                     rule("log", algorithm="sliding_log", limit=3, window="10s", path="/log")))
    v.allow(15, {"remaining": 8}, user="u", path="/counter", cost=2)
    v.allow(25, {"remaining": 6}, user="u", path="/counter", cost=3)
    v.allow(20, user="u", path="/log")
    v.allow(10, {"remaining": 4, "reset": 30}, user="u", path="/counter")
    v.allow(15, {"remaining": 3, "reset": 25}, user="u", path="/counter")
    v.allow(10, {"remaining": 1, "reset": 20}, user="u", path="/log")
    v.allow("9.999999", {"remaining": 0, "reset": 10}, user="u", path="/log")
    v.allow(15, {"allowed": False, "retry": "4.999999"}, user="u", path="/log")
    return v


def firewall_does_not_mint():
    v = Vector("firewall-does-not-mint", ["semantics 4"], "A clock that jumps to and fro gives no more than one bucket.",
               rules(rule(limit=4, window="10s")))
    v.allow_n(10**6, 4, "A", user="u")
    v.allow_n(0, 2, "D", user="u")
    v.allow(5, {"allowed": True, "remaining": 1}, user="u")
    v.allow(0, {"allowed": True, "remaining": 0}, user="u")
    v.allow(0, {"allowed": False, "retry": "7.5"}, user="u")
    return v


def log_is_made_now():
    v = Vector("firewall-log-is-made-now", ["semantics 4"], "Log entries ahead of now count as made now: they leave together, one window on.",
               rules(rule(algorithm="sliding_log", limit=6, window="100s")))
    v.allow(110, {"remaining": 4}, user="u", cost=2)
    v.allow(150, {"remaining": 1}, user="u", cost=3)
    v.allow(5, {"allowed": True, "remaining": 0, "reset": 100}, user="u")
    v.allow(5, {"allowed": False, "retry": 100}, user="u")
    v.allow("104.999999", "D", user="u")
    v.allow(105, {"allowed": True, "remaining": 0}, user="u", cost=6)
    return v


def counts_stay_with_the_window_of_now():
    v = Vector("firewall-counts-move", ["semantics 4"],
               "Counts ahead of the clock stay with the window that holds now.",
               rules(rule("fixed", algorithm="fixed_window", limit=5, window="10s", path="/fixed"),
                     rule("counter", algorithm="sliding_counter", limit=5, window="10s", path="/counter")))
    for path in ("/fixed", "/counter"):
        v.allow(1005, {"remaining": 2}, user="u", path=path, cost=3)
    for path in ("/fixed", "/counter"):
        v.allow(7, {"allowed": True, "remaining": 0}, user="u", path=path, cost=2)
    v.allow(7, {"allowed": False, "retry": 3}, user="u", path="/fixed")
    v.allow(7, {"allowed": False, "retry": 5}, user="u", path="/counter")
    return v


def first_instant():
    v = Vector("near-the-epoch", ["semantics 4"], "The first microseconds of the epoch are instants like any other.",
               rules(rule(limit=1, window="1s"), rule("log", algorithm="sliding_log", limit=1, window="1s", path="/log")), base=1)
    v.allow(0, {"allowed": True, "reset": 1}, user="u", path="/")
    v.allow(0, "A", user="u", path="/log")
    v.allow(0, {"allowed": False, "retry": 1}, user="u", path="/log")
    return v


def last_instant():
    v = Vector("end-of-time", ["semantics 4"], "Near the last instant nothing wraps; past it a time is refused.",
               rules(rule(limit=1, window="1d"), rule("counter", algorithm="sliding_counter", limit=1, window="1d", path="/c")),
               base=9_007_199_254_740_991_000)
    v.allow(0, {"allowed": True, "reset": 86400}, user="u", path="/")
    v.allow(0, {"allowed": False, "retry": 86400}, user="u", path="/")
    v.allow(0, "A", user="u", path="/c")
    v.allow(0, "D", user="u", path="/c")
    return v


def one_instant_for_all_limits():
    v = Vector("one-instant-for-all-limits", ["semantics 4"], "All limits of a request see one instant; many requests of one call as well.",
               rules({"name": "r", "limits": [limit("user", "sliding_log", 2, "1s", name="log"),
                                              limit("user", "token_bucket", 2, "1s", name="bucket")]}))
    v.many(0, [{"user": "u"}, {"user": "u"}, {"user": "u"}, {"user": "v"}, {"user": "u", "cost": 0}], "AADA")
    v.many("0.5", [{"user": "u"}, {"user": "v"}], "DA")
    v.many(1, [{"user": "u"}, {"user": "u"}], "AA")
    return v


def vectors():
    return [*map(backward_step, ALL), *map(firewall, ALL), firewall_kept_on_denial(), firewall_edge(), firewall_edge_of_windows(), firewall_does_not_mint(),
            log_is_made_now(), counts_stay_with_the_window_of_now(), first_instant(), last_instant(),
            one_instant_for_all_limits()]
