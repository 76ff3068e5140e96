"""What survives a reload (semantics 9)."""

from script import Vector, ns, rule, rules

ALL = ("token_bucket", "leaky_bucket", "fixed_window", "sliding_log", "sliding_counter")


def tight(v, at, **request):
    """Denied now; admitted when it says and not a microsecond before."""
    denied = v.allow(at, "D", **request)
    wait = int(v.decisions[denied][0]["retry_after_ns"])
    start = ns(at)
    v.allow(f"{start + wait - 1000}ns", "D", **request)
    v.allow(f"{start + wait}ns", "A", **request)


def unchanged(algorithm):
    file = rules(rule(algorithm=algorithm, limit=5, window="1m"))
    v = Vector(f"reload-unchanged-{algorithm}", ["semantics 9", "B165"], "Reloading the same rules gives nothing back, however often.", file)
    v.allow_n(1, 3, "A", user="u")
    for _ in range(3):
        v.reload(1, file)
    v.allow(1, {"allowed": True, "remaining": 1, "generation": 4}, user="u")
    v.reload(1, rules(rule("other", limit=1, path="/other"), *file["rules"]))
    v.allow(1, {"allowed": True, "remaining": 0}, user="u", path="/")
    tight(v, 1, user="u", path="/")
    return v


def raised(algorithm):
    v = Vector(f"reload-raised-{algorithm}", ["semantics 9", "B162"], "Used up, then raised: the new limit less what was used, at once.",
               rules(rule(algorithm=algorithm, limit=5, window="1m")))
    v.allow(1, {"allowed": True, "remaining": 0}, user="u", cost=5)
    v.allow(1, {"allowed": False, "capacity": 5}, user="u")
    v.reload(1, rules(rule(algorithm=algorithm, limit=12, window="1m")))
    left = 0 if algorithm == "token_bucket" else 7
    v.peek(1, {"allowed": left > 0, "remaining": left, "capacity": 12}, user="u")
    v.peek(1, {"allowed": True, "remaining": 12}, user="fresh")
    v.allow_n(1, left, "A", user="u")
    tight(v, 1, user="u")
    return v


def lowered(algorithm):
    v = Vector(f"reload-lowered-{algorithm}", ["semantics 9", "B162"], "Usage above the new limit: denied, nothing underflows, the wait is tight.",
               rules(rule(algorithm=algorithm, limit=20, window="1m")))
    v.allow(1, {"allowed": True}, user="u", cost=8)
    v.reload(1, rules(rule(algorithm=algorithm, limit=5, window="1m")))
    # The bucket had 12 units left, which the new capacity cuts to 5; the others have more counted than the limit.
    left = 5 if algorithm == "token_bucket" else 0
    v.peek(1, {"remaining": left, "capacity": 5}, user="u")
    if left:
        v.allow(1, {"allowed": True, "remaining": 0}, user="u", cost=left)
    tight(v, 1, user="u")
    return v


def other_window(algorithm):
    v = Vector(f"reload-other-window-{algorithm}", ["semantics 9"], "Another window: the rate changes from the next request on.",
               rules(rule(algorithm=algorithm, limit=6, window="1m")))
    v.allow(5, {"allowed": True, "remaining": 2}, user="u", cost=4)
    v.reload(5, rules(rule(algorithm=algorithm, limit=6, window="10s")))
    v.allow(5, {"allowed": True, "remaining": 0, "window_ns": "10000000000"}, user="u", cost=2)
    tight(v, 5, user="u", cost=3)
    return v


def denied_after_reload():
    v = Vector("reload-then-denied", ["semantics 9", "semantics 3"],
               "The first request after a reload is denied: the wait it gets is by the new rate, and holds.",
               rules(rule(limit=1, window="100s")))
    v.allow(0, "A", user="u")
    v.reload(0, rules(rule(limit=1, window="10s")))
    v.allow(0, {"allowed": False, "retry": 10}, user="u")
    v.allow("9.999999", "D", user="u")
    v.allow(10, "A", user="u")
    v.reload(10, rules(rule(limit=1, window="100s")))
    v.allow(10, {"allowed": False, "retry": 100}, user="u")
    v.allow(20, {"allowed": False, "retry": 90}, user="u")
    v.allow(110, "A", user="u")
    return v


def bucket_in_units():
    v = Vector("reload-level-in-units", ["semantics 9"], "A level carries over in units, fractions included, and nothing is rounded up.",
               rules(rule(limit=7, window="3s")))
    v.allow(0, {"remaining": 3}, user="u", cost=4)
    v.reload("0.1", rules(rule(limit=9, window="2s", burst=20)))
    v.peek("0.1", {"remaining": 3, "capacity": 20}, user="u")
    v.allow("0.1", {"remaining": 0}, user="u", cost=3)
    tight(v, "0.1", user="u")
    return v


def counter_weight():
    v = Vector("reload-counter-adds-the-previous", ["semantics 9"],
               "The sliding counter adds what its previous window still weighs, rounded up.",
               rules(rule(algorithm="sliding_counter", limit=10, window="10s")))
    v.allow(0, user="u", cost=5)
    v.allow(13, {"remaining": 4}, user="u", cost=2)
    v.reload(13, rules(rule(algorithm="sliding_counter", limit=20, window="10s")))
    v.peek(13, {"remaining": 14}, user="u")
    v.allow(13, {"remaining": 0}, user="u", cost=14)
    tight(v, 13, user="u")
    return v


def log_as_it_is():
    v = Vector("reload-log-as-it-is", ["semantics 9"], "Log entries carry over with their times: a shorter window forgets sooner, a longer one later.",
               rules(rule(algorithm="sliding_log", limit=3, window="10s")))
    for at in (0, 4, 8):
        v.allow(at, "A", user="u")
    v.reload(8, rules(rule(algorithm="sliding_log", limit=3, window="5s")))
    v.peek(8, {"allowed": True, "remaining": 1}, user="u")
    v.reload(8, rules(rule(algorithm="sliding_log", limit=3, window="20s")))
    v.allow(9, {"allowed": False, "retry": 11}, user="u")
    v.allow("19.999999", "D", user="u")
    v.allow(20, "A", user="u")
    return v


def debt_carries(algorithm):
    v = Vector(f"reload-keeps-debt-{algorithm}", ["semantics 5", "semantics 9"], "What was charged late is still owed after a reload.",
               rules(rule(algorithm=algorithm, limit=10, window="1m")))
    first = v.allow(5, user="u", cost=10)
    v.settle(5, first, 14, {"remaining": 0})
    v.reload(5, rules(rule(algorithm=algorithm, limit=5, window="1m")))
    v.peek(5, {"allowed": False, "remaining": 0, "capacity": 5}, user="u")
    tight(v, 5, user="u")
    return v


def coarser(algorithm):
    v = Vector(f"reload-to-a-coarser-tick-{algorithm}", ["semantics 3", "semantics 9"],
               "From microseconds to a tick of 10 ms and back, between two of those ticks: nothing is handed back.",
               rules(rule(algorithm=algorithm, limit=100, window="1d")))
    v.allow(86400, {"remaining": 40}, user="u", cost=60)
    v.reload(86400, rules(rule(algorithm=algorithm, limit=150_000_001, window="1d")), ticks={"r/r": 10_000})
    used = 60 if algorithm == "leaky_bucket" else 0
    left = 40 if algorithm == "token_bucket" else 150_000_001 - used
    v.peek(86400, {"remaining": left}, user="u")
    v.reload(86400, rules(rule(algorithm=algorithm, limit=100, window="1d")))
    v.peek(86400, {"remaining": 40}, user="u")
    tight(v, 86400, user="u", cost=41)
    return v


def starts_new(label, after):
    v = Vector(f"reload-starts-new-{label}", ["semantics 9"], "Another algorithm, scope or name is another limit: it starts new.",
               rules(rule(limit=2, window="1m")))
    v.allow_n(0, 2, "A", user="u", ip="192.0.2.1")
    v.allow(0, "D", user="u", ip="192.0.2.1")
    v.reload(0, rules(after))
    v.allow(0, {"allowed": True, "remaining": 1}, user="u", ip="192.0.2.1")
    return v


def refused():
    v = Vector("reload-refused", ["semantics 9", "B168"], "A bad rule text changes nothing that runs.",
               rules(rule(limit=2, window="1m")))
    v.allow(0, {"allowed": True, "generation": 1}, user="u")
    v.refused_reload(0, "rules: [{name: r, scope: user, limit: 0, window: 1s}]")
    v.refused_reload(0, "rules: [")
    v.allow(0, {"allowed": True, "remaining": 0, "generation": 1}, user="u")
    v.allow(0, "D", user="u")
    return v


def order_and_neighbours():
    a, b = rule("a", limit=2, window="1m", path="/a"), rule("b", limit=2, window="1m", path="/b")
    v = Vector("reload-order-and-neighbours", ["semantics 9", "B132"], "A rule's state follows its name, whatever stands before it in the file.",
               rules(a, b))
    v.allow(0, {"remaining": 1}, user="u", path="/a")
    v.allow_n(0, 2, "A", user="u", path="/b")
    v.reload(0, rules(b, rule("c", limit=9, window="1m", path="/c"), a))
    v.allow(0, {"allowed": True, "remaining": 0}, user="u", path="/a")
    v.allow(0, "D", user="u", path="/b")
    v.reload(0, rules(a))
    v.allow(0, {"source": "no_rule"}, user="u", path="/b")
    v.allow(0, "D", user="u", path="/a")
    return v


def override_changes():
    v = Vector("reload-override", ["semantics 9"], "An override that comes or goes changes the numbers, not the state.",
               rules(rule(algorithm="fixed_window", limit=3, window="1m")))
    v.allow_n(0, 3, "A", user="alice")
    v.reload(0, rules(rule(algorithm="fixed_window", limit=3, window="1m", overrides={"alice": {"limit": 5}})))
    v.allow(0, {"allowed": True, "remaining": 1, "limit": 5}, user="alice")
    v.reload(0, rules(rule(algorithm="fixed_window", limit=3, window="1m")))
    v.allow(0, {"allowed": False, "remaining": 0, "limit": 3}, user="alice")
    return v


def down_and_up(algorithm):
    """The day's million is counted in coarser ticks than its hundred."""
    v = Vector(f"reload-down-and-up-{algorithm}", ["semantics 9"], "A limit that is cut to a fraction and raised again has handed nothing back.",
               rules(rule(algorithm=algorithm, limit=1_000_000, window="1d")))
    v.allow(1, {"allowed": True, "remaining": 100_000}, user="u", cost=900_000)
    v.reload(2, rules(rule(algorithm=algorithm, limit=100, window="1d")))
    v.allow(2, {"allowed": False, "remaining": 0}, user="u")
    v.reload(3, rules(rule(algorithm=algorithm, limit=1_000_000, window="1d")))
    v.allow(3, {"allowed": True, "remaining": 99_999}, user="u")
    return v


def vectors():
    return [*map(unchanged, ALL), *map(raised, ALL), *map(lowered, ALL), *map(other_window, ALL), denied_after_reload(), *map(debt_carries, ALL),
            coarser("token_bucket"), coarser("leaky_bucket"),
            bucket_in_units(), counter_weight(), log_as_it_is(),
            starts_new("algorithm", rule(algorithm="fixed_window", limit=2, window="1m")),
            starts_new("scope", rule(scope="ip", limit=2, window="1m")),
            starts_new("name", rule("renamed", limit=2, window="1m")),
            refused(), order_and_neighbours(), override_changes(),
            *map(down_and_up, ("fixed_window", "sliding_log", "sliding_counter"))]
