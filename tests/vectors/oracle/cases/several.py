"""Several limits on one request, shadow limits, match: all (semantics 6)."""

from script import Vector, limit, rule, rules


def all_or_nothing():
    v = Vector("all-or-nothing", ["semantics 6", "B213", "B219"], "The inner limit denies: the outer one is not charged.",
               rules({"name": "r", "limits": [limit("user", "token_bucket", 10, "10s", name="outer"),
                                              limit("global", "fixed_window", 2, "10s", name="inner")]}))
    v.allow(0, {"limit_name": "inner", "remaining": 1, "limit_count": 2}, user="a")
    v.allow(0, {"limit_name": "inner", "remaining": 0}, user="b")
    v.allow_n(0, 3, {"allowed": False, "limit_name": "inner", "retry": 10}, user="a")
    v.allow(10, {"allowed": True, "limit_name": "inner", "remaining": 1}, user="a")
    v.peek(10, {"allowed": False, "limit_name": "inner", "remaining": 1}, user="a", cost=2)
    v.peek(10, {"allowed": False, "limit_name": "inner", "reason": "never_fits"}, user="a", cost=9)
    return v


def tight_together():
    v = Vector("several-waits-are-tight", ["semantics 3", "semantics 6"], "The wait is the longest of all limits, and tight for them together.",
               rules({"name": "r", "limits": [limit("user", "token_bucket", 2, "1s", name="burst"),
                                              limit("user", "sliding_log", 3, "10s", name="log"),
                                              limit("user", "sliding_counter", 5, "60s", name="counter")]}))
    v.allow_n(0, 2, "A", user="u")
    v.allow(0, {"allowed": False, "limit_name": "burst", "retry": "0.5"}, user="u")
    v.allow("0.499999", "D", user="u")
    v.allow("0.5", {"allowed": True, "limit_name": "burst"}, user="u")
    v.allow("0.5", {"allowed": False, "limit_name": "log", "retry": "9.5"}, user="u")
    v.allow("9.999999", "D", user="u")
    v.allow(10, "A", user="u")
    v.allow(10, "A", user="u")
    v.allow(10, {"allowed": False, "limit_name": "counter", "retry": 62}, user="u")
    v.allow("71.999999", {"allowed": False, "limit_name": "counter"}, user="u")
    v.allow(72, "A", user="u")
    return v


def longest_wait():
    v = Vector("wait-is-the-longest", ["B216"], "1 per 7 s and 5 per 60 s, taken as soon as each may be: the sixth waits for the right limit.",
               rules({"name": "r", "limits": [limit("user", "sliding_log", 1, "7s", name="seven"),
                                              limit("user", "sliding_log", 5, "60s", name="minute")]}))
    for at in (0, 7, 14, 21, 28):
        v.allow(at, "A", user="u")
    v.allow("28.2", {"allowed": False, "limit_name": "minute", "retry": "31.8"}, user="u")
    v.allow("59.999999", "D", user="u")
    v.allow(60, "A", user="u")
    return v


def binding_ties():
    v = Vector("binding-limit", ["semantics 6"], "Allowed: the smallest fraction left; denied: the longest wait; ties: the first in order.",
               rules({"name": "r", "limits": [limit("user", "fixed_window", 10, "10s", name="a"),
                                              limit("user", "fixed_window", 10, "10s", name="b"),
                                              limit("user", "fixed_window", 4, "20s", name="c")]}))
    v.allow(0, {"limit_name": "c", "remaining": 3}, user="u")
    v.peek(0, {"limit_name": "c", "remaining": 3}, user="u")
    v.allow(0, {"limit_name": "c", "remaining": 0}, user="u", cost=3)
    v.allow(0, {"allowed": False, "limit_name": "c", "retry": 20}, user="u")
    v.allow(0, {"allowed": False, "reason": "never_fits", "limit_name": "c"}, user="u", cost=7)
    v.peek(0, {"limit_name": "a", "remaining": 10, "reset": 0, "reason": "never_fits"}, user="v", cost=11)
    return v


def never_fits_outweighs():
    v = Vector("never-fits-is-the-longest-wait", ["semantics 5", "semantics 6"], "A limit that the cost never fits binds before one that waiting cures.",
               rules({"name": "r", "limits": [limit("user", "fixed_window", 10, "10s", name="wide"),
                                              limit("user", "token_bucket", 5, "10s", name="narrow")]}))
    v.allow(0, {"limit_name": "narrow"}, user="u", cost=5)
    v.allow(0, {"limit_name": "narrow", "reason": "limited", "retry": 10}, user="u", cost=5)
    v.allow(0, {"limit_name": "narrow", "reason": "never_fits", "retry": "never", "remaining": 0}, user="u", cost=6)
    return v


def two_rules_one_key():
    v = Vector("two-limits-one-key", ["B129"], "3 per min and 30 per day on one key: each call counts once for each; the fourth is denied.",
               rules({"name": "r", "limits": [limit("user", "fixed_window", 3, "1m", name="minute"),
                                              limit("user", "fixed_window", 30, "1d", name="day")]},
                     {"name": "s", "path": "/s", "limits": [limit("user", "fixed_window", 5, "1m"),
                                                            limit("user", "fixed_window", 50, "1d")]}))
    v.allow_n(0, 3, "A", user="u", path="/")
    v.allow(0, {"allowed": False, "limit_name": "minute"}, user="u", path="/")
    v.allow_n(0, 5, {"allowed": True, "limit_name": "user"}, user="u", path="/s")
    v.allow(0, {"allowed": False, "limit_name": "user"}, user="u", path="/s")
    return v


def users_and_tenants():
    v = Vector("users-and-tenants", ["B210"], "User 4/h and tenant 4/h: what a user was denied on one tenant is not held against others.",
               rules({"name": "r", "limits": [limit("user", "fixed_window", 4, "1h", name="user"),
                                              limit("attribute:tenant", "fixed_window", 4, "1h", name="tenant")]}))
    tenant = lambda name: [{"name": "tenant", "value": name}]
    v.allow_n(0, 4, "A", user="u1", attributes=tenant("A"))
    v.allow(0, "D", user="u1", attributes=tenant("A"))
    v.allow_n(0, 2, {"allowed": False, "limit_name": "tenant"}, user="u2", attributes=tenant("A"))
    v.allow_n(0, 4, "A", user="u2", attributes=tenant("B"))
    v.allow(0, {"allowed": False, "limit_name": "user"}, user="u2", attributes=tenant("B"))
    return v


def shadow_limit():
    v = Vector("shadow-limit", ["semantics 6", "B234"], "A shadow limit counts on its own state and never changes the outcome.",
               rules({"name": "r", "limits": [limit("user", "fixed_window", 4, "10s", name="real"),
                                              limit("user", "fixed_window", 2, "10s", name="trial", shadow=True)]}))
    for left, flagged in ((3, False), (2, False), (1, True), (0, True)):
        v.allow(0, {"allowed": True, "limit_name": "real", "remaining": left, "shadow_denied": flagged, "limit_count": 2}, user="u")
    v.allow(0, {"allowed": False, "limit_name": "real", "shadow_denied": True}, user="u")
    v.metrics(0, ["r"], {"requests": 5, "allowed": 4, "denied": 1, "shadow_denied": 3})
    v.allow(10, {"allowed": True, "shadow_denied": False}, user="u")
    v.peek(10, {"allowed": True, "shadow_denied": True, "remaining": 3}, user="u", cost=2)
    return v


def shadow_not_charged():
    v = Vector("shadow-is-not-charged-by-denied", ["semantics 6"], "A request that is denied charges a shadow limit no more than any other.",
               rules({"name": "r", "limits": [limit("user", "fixed_window", 1, "10s", name="real"),
                                              limit("user", "fixed_window", 3, "30s", name="trial", shadow=True)]}))
    v.allow(0, {"allowed": True, "shadow_denied": False}, user="u")
    v.allow_n(0, 5, {"allowed": False, "shadow_denied": False}, user="u")
    v.allow(10, {"allowed": True, "shadow_denied": False}, user="u")
    v.allow(20, {"allowed": True, "shadow_denied": False}, user="u")
    v.allow(20, {"allowed": False, "shadow_denied": True}, user="u")
    return v


def delays():
    v = Vector("largest-delay", ["semantics 2", "semantics 6"], "Two queues: the request carries the longer delay, whichever limit binds.",
               rules({"name": "r", "limits": [limit("user", "leaky_bucket", 1, "1s", burst=10, name="slow"),
                                              limit("global", "leaky_bucket", 10, "1s", burst=12, name="fast"),
                                              limit("user", "fixed_window", 4, "1m", name="count")]}))
    v.allow(0, {"delay": 0, "limit_name": "count"}, user="u")
    v.allow(0, {"delay": 1}, user="u")
    v.allow(0, {"delay": "0.2"}, user="v")
    v.allow(0, {"delay": 2, "limit_name": "count"}, user="u")
    return v


def match_all():
    v = Vector("match-all", ["semantics 7"], "match: all makes every matching rule apply, all or nothing over all of them.",
               rules(rule("site", scope="global", algorithm="fixed_window", limit=3, window="10s"),
                     rule("orders", algorithm="fixed_window", limit=2, window="10s", path="/orders"), match="all"))
    v.allow(0, {"limit_count": 2, "limit_name": "orders", "rule": "orders", "remaining": 1}, user="u", path="/orders/1")
    v.allow(0, {"limit_name": "orders", "remaining": 0}, user="u", path="/orders/2")
    v.allow(0, {"allowed": False, "limit_name": "orders", "rule": "orders"}, user="u", path="/orders")
    v.allow(0, {"limit_count": 1, "limit_name": "site", "rule": "site", "remaining": 0}, user="u", path="/")
    v.allow(0, {"allowed": False, "limit_name": "site", "rule": "site"}, user="v", path="/orders")
    return v


def shadow_rule():
    v = Vector("shadow-rule", ["semantics 6", "semantics 7"], "A rule on trial: everything passes, no limit binds, what it would have done is flagged.",
               rules(rule("trial", algorithm="leaky_bucket", limit=1, burst=2, window="10s", shadow=True)))
    nothing = {"allowed": True, "limit_name": "", "limit_count": 1, "capacity": 0, "remaining": 0, "delay": 0, "rule": "trial"}
    for flagged in (False, False, True, True):
        passed = v.allow(0, {**nothing, "shadow_denied": flagged}, user="u")
        v.headers(passed, want=[])
    v.allow(0, {**nothing, "shadow_denied": True}, user="u", cost=9)
    v.allow(10, {**nothing, "shadow_denied": False}, user="u")
    v.metrics(10, ["trial"], {"requests": 6, "allowed": 6, "denied": 0, "shadow_denied": 3, "never_fits": 0})
    return v


def match_all_actions():
    v = Vector("match-all-actions", ["semantics 7"], "match: all with other actions: block denies whatever else applies, unlimited adds no limit.",
               rules(rule("site", scope="global", algorithm="fixed_window", limit=2, window="10s"),
                     {"name": "closed", "path": "/closed", "action": "block"},
                     {"name": "health", "path": "/health", "action": "unlimited"}, match="all"))
    v.allow(0, {"allowed": False, "reason": "blocked", "source": "action"}, user="u", path="/closed")
    v.allow(0, {"allowed": True, "limit_name": "site", "remaining": 1}, user="u", path="/health")
    v.allow(0, {"allowed": True, "limit_name": "site", "remaining": 0}, user="u", path="/")
    v.allow(0, {"allowed": False, "limit_name": "site"}, user="u", path="/health")
    return v


def vectors():
    return [all_or_nothing(), tight_together(), longest_wait(), binding_ties(), never_fits_outweighs(), two_rules_one_key(),
            users_and_tenants(), shadow_limit(), shadow_not_charged(), delays(), match_all(), match_all_actions(), shadow_rule()]
