"""Settling after the work, looking, forgetting, and housekeeping (semantics 5 and 10)."""

from script import Vector, limit, rule, rules

ALL = ("token_bucket", "leaky_bucket", "fixed_window", "sliding_log", "sliding_counter")


def give_back(algorithm):
    v = Vector(f"settle-gives-back-{algorithm}", ["semantics 5", "B222"],
               "Less was used than was asked for: the rest comes back, never above full.",
               rules(rule(algorithm=algorithm, limit=10, window="1m")))
    first = v.allow(0, {"remaining": 2}, user="u", cost=8)
    v.settle(0, first, 3, {"remaining": 7})
    v.allow(0, {"allowed": True, "remaining": 0}, user="u", cost=7)
    v.allow(0, "D", user="u")
    other = v.allow(0, {"remaining": 6}, user="v", cost=4)
    v.settle(0, other, 0, {"remaining": 10, "reset": 0})
    v.peek(0, {"remaining": 10, "reset": 0}, user="v")
    v.settle(0, other, 0, {"remaining": 10})
    v.allow(0, {"remaining": 0}, user="v", cost=10)
    return v


def late_charge(algorithm):
    v = Vector(f"settle-charges-late-{algorithm}", ["semantics 5"],
               "More was used than was asked for: the balance may go below zero, one capacity deep at most.",
               rules(rule(algorithm=algorithm, limit=10, window="1m")))
    first = v.allow(0, {"remaining": 7}, user="u", cost=3)
    v.settle(0, first, 9, {"remaining": 1})
    v.allow(0, {"remaining": 0}, user="u")
    second = v.allow(0, {"remaining": 9}, user="v")
    v.settle(0, second, 15, {"remaining": 0})
    denied = v.allow(0, {"allowed": False, "remaining": 0}, user="v")
    wait = int(v.decisions[denied][0]["retry_after_ns"])
    v.allow(f"{wait - 1000}ns", "D", user="v")
    v.allow(f"{wait}ns", "A", user="v")
    third = v.allow(0, user="w")
    v.settle(0, third, 10**6, {"remaining": 0})
    denied = v.allow(0, "D", user="w", cost=10)
    wait = int(v.decisions[denied][0]["retry_after_ns"])
    v.allow(f"{wait - 1000}ns", "D", user="w", cost=10)
    v.allow(f"{wait}ns", "A", user="w", cost=10)
    return v


def only_its_window():
    v = Vector("settle-only-its-window", ["semantics 5", "B072"], "A window that is over is settled no more.",
               rules(rule("fixed", algorithm="fixed_window", limit=10, window="10s", path="/fixed"),
                     rule("log", algorithm="sliding_log", limit=10, window="10s", path="/log"),
                     rule("counter", algorithm="sliding_counter", limit=10, window="10s", path="/counter")))
    fixed = v.allow(5, {"remaining": 5}, user="u", path="/fixed", cost=5)
    v.allow(10, {"remaining": 9}, user="u", path="/fixed")
    v.settle(11, fixed, 10, {"remaining": 9})
    v.settle(11, fixed, 0, {"remaining": 9})
    log = v.allow(5, {"remaining": 5}, user="u", path="/log", cost=5)
    v.settle("14.999999", log, 10, {"remaining": 0})
    v.allow(15, {"remaining": 9}, user="u", path="/log")
    v.settle(15, log, 0, {"remaining": 9})
    counter = v.allow(5, {"remaining": 5}, user="u", path="/counter", cost=5)
    v.settle(15, counter, 9, {"remaining": 5})
    v.allow(20, {"remaining": 9}, user="u", path="/counter")
    v.settle(20, counter, 0, {"remaining": 9})
    return v


def bucket_settled_later():
    v = Vector("settle-later-bucket", ["semantics 5"], "A bucket that has filled up meanwhile takes nothing more; one that has not takes it all.",
               rules(rule(limit=10, window="10s")))
    first = v.allow(0, user="u", cost=6)
    v.settle(3, first, 2, {"remaining": 10, "reset": 0})
    second = v.allow(20, {"remaining": 2}, user="u", cost=8)
    v.settle(21, second, 7, {"remaining": 4, "reset": 6})
    v.settle(21, second, 12, {"remaining": 0, "reset": 10})
    return v


def log_entries_settled():
    v = Vector("settle-log-entries", ["semantics 2", "semantics 5"], "Settling changes the entry that was made, and what is reset follows the newest that is left.",
               rules(rule(algorithm="sliding_log", limit=10, window="10s")))
    first = v.allow(1, user="u", cost=2)
    second = v.allow(2, user="u", cost=3)
    third = v.allow(4, {"remaining": 1, "reset": 10}, user="u", cost=4)
    v.settle(5, third, 0, {"remaining": 5, "reset": 7})
    v.settle(5, first, 0, {"remaining": 7, "reset": 7})
    v.settle(5, second, 5, {"remaining": 5, "reset": 7})
    v.allow(5, {"allowed": False, "retry": 7}, user="u", cost=6)
    v.settle(5, second, 3, {"remaining": 5})
    v.settle(5, second, 0, {"remaining": 8, "reset": 7})
    return v


def bad_settles():
    v = Vector("settle-is-checked", ["semantics 5", "B222"], "Nothing to settle after a denial or a peek; a negative use is refused.",
               rules(rule(limit=2, window="10s"), {"name": "free", "path": "/free", "action": "unlimited"}))
    good = v.allow(0, {"remaining": 0}, user="u", path="/", cost=2)
    denied = v.allow(0, "D", user="u", path="/")
    peeked = v.peek(0, "A", user="v", path="/")
    free = v.allow(0, "A", user="u", path="/free")
    for of in (denied, peeked, free):
        v.settle(0, of, 1, "RL_E_INVALID_ARGUMENT")
    v.settle(0, good, -1, "RL_E_INVALID_ARGUMENT")
    v.peek(0, {"allowed": False, "remaining": 0}, user="u", path="/")
    v.settle(0, good, 2, {"remaining": 0})
    v.settle(0, good, 1, {"remaining": 1})
    return v


def settle_all_limits():
    v = Vector("settle-several", ["semantics 5", "semantics 6"], "Every limit that was charged is settled.",
               rules({"name": "r", "limits": [limit("user", "token_bucket", 10, "10s", name="bucket"),
                                              limit("global", "fixed_window", 20, "10s", name="window")]}))
    first = v.allow(0, {"limit_name": "bucket", "remaining": 4}, user="u", cost=6)
    v.settle(0, first, 1, {"limit_name": "bucket", "remaining": 9})
    v.allow(0, {"limit_name": "bucket", "remaining": 0}, user="u", cost=9)
    v.allow(0, {"limit_name": "window", "remaining": 1}, user="v", cost=9)
    v.allow(0, {"allowed": False, "limit_name": "window", "remaining": 1}, user="w", cost=2)
    return v


def peek_spends_nothing(algorithm):
    v = Vector(f"peek-{algorithm}", ["semantics 5"], "Peeking tells what would be answered, of the state as it is.",
               rules(rule(algorithm=algorithm, limit=3, window="3s")))
    for _ in range(4):
        v.peek(0, {"allowed": True, "remaining": 3, "reset": 0, "delay": 0}, user="u")
    v.allow_n(0, 3, "A", user="u")
    denied = v.peek(0, {"allowed": False, "remaining": 0}, user="u")
    assert v.decisions[denied][0]["retry_after_ns"] != "0"
    v.peek(0, {"allowed": True, "remaining": 3}, user="v", cost=3)
    v.peek(0, {"allowed": False, "reason": "never_fits"}, user="v", cost=4)
    v.metrics(0, ["r"], {"requests": 3, "allowed": 3})
    return v


def reset(algorithm):
    v = Vector(f"reset-{algorithm}", ["rl.h rl_reset"], "A reset forgets the key, and no other.",
               rules(rule(algorithm=algorithm, limit=2, window="1m")))
    v.allow_n(0, 2, "A", user="u")
    v.allow_n(0, 2, "A", user="v")
    v.reset(0, user="u")
    v.allow(0, {"allowed": True, "remaining": 1}, user="u")
    v.allow(0, "D", user="v")
    v.reset(0, user="nobody")
    return v


def idle_equals_new(algorithm):
    v = Vector(f"idle-equals-new-{algorithm}", ["semantics 3", "semantics 10", "B228"],
               "A key that has been idle long enough decides as one never seen; dropping it changes nothing.",
               rules(rule(algorithm=algorithm, limit=3, window="1m")))
    for at in (0, 600):
        v.allow(at, {"allowed": True, "remaining": 2}, user="u")
        v.allow(at, {"allowed": True, "remaining": 0}, user="u", cost=2)
        v.allow(at, "D", user="u")
    v.evict_idle(1200, want=1)
    v.key_count(1200, want=0)
    v.allow(1200, {"allowed": True, "remaining": 2}, user="u")
    return v


def by_rule_and_key():
    v = Vector("settle-and-reset-by-key", ["rl.h rl_request.key"], "Settling and resetting find the state of a rule and a key as deciding does.",
               rules({"name": "r", "limits": [limit("user", "token_bucket", 10, "10s", name="bucket"),
                                              limit("global", "fixed_window", 12, "10s", name="window")]}))
    first = v.allow(0, {"remaining": 2}, rule="r", key="alice", cost=8)
    v.settle(0, first, 4, {"limit_name": "bucket", "remaining": 6})
    v.allow(0, {"allowed": True, "limit_name": "bucket", "remaining": 5}, user="alice")
    v.reset(0, rule="r", key="alice")
    v.allow(0, {"allowed": True, "remaining": 9, "limit_name": "bucket"}, user="alice")
    return v


def evict_idle():
    v = Vector("evict-idle", ["semantics 10", "B225", "B231"], "Only keys that are as new go; one that still counts stays.",
               rules(rule("bucket", limit=10, window="10s", path="/b"),
                     rule("hour", algorithm="fixed_window", limit=2, window="1h", path="/h")))
    for n in range(20):
        v.allow(0, "A", user=f"u{n}", path="/b")
    v.allow(0, "A", user="slow", path="/b", cost=10)
    v.allow_n(0, 2, "A", user="held", path="/h")
    v.key_count(0, want=22)
    v.evict_idle("0.5", want=0)
    v.evict_idle(1, want=20)
    v.key_count(1, want=2)
    v.allow(1, "D", user="held", path="/h")
    v.allow(1, {"allowed": False}, user="slow", path="/b", cost=10)
    v.evict_idle(20, cutoff=5, want=0)
    v.evict_idle(20, cutoff=10, want=1)
    v.allow(20, "D", user="held", path="/h")
    v.evict_idle(3600, want=1)
    v.key_count(3600, want=0)
    return v


def vectors():
    return [*map(give_back, ALL), *map(late_charge, ALL), only_its_window(), bucket_settled_later(), log_entries_settled(), bad_settles(),
            settle_all_limits(), *map(peek_spends_nothing, ALL), *map(reset, ALL), *map(idle_equals_new, ALL), by_rule_and_key(), evict_idle()]
