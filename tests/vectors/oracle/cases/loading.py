"""Rule sets that must load, and such that must not (semantics 7). What is right here is said by hand, not computed."""

from script import Vector, limit, rule, rules

OK, BAD = "RL_OK", "RL_E_CONFIG"


def settings():
    v = Vector("loading", ["semantics 1", "semantics 7", "B003", "B018", "B027", "B051", "B168", "B171", "B174", "B192"],
               "A rule that cannot mean anything is refused at load, never at the first request.", rules(rule()))
    v.load(OK, rules(rule()))
    v.load(BAD, rules(rule(limit=0)))
    v.load(BAD, rules(rule(limit=-1)))
    v.load(BAD, rules(rule(limit=0.5)))
    v.load(BAD, rules(rule(limit="5")))
    v.load(BAD, rules(rule(window="0s")))
    v.load(BAD, rules(rule(window=60)))
    v.load(BAD, rules(rule(window="60")))
    v.load(BAD, rules(rule(window="1ns")))
    v.load(BAD, rules(rule(burst=0)))
    v.load(BAD, rules(rule(window="36500d")))
    v.load(BAD, rules({"name": "r", "scope": "user", "limit": 5}))
    v.load(BAD, rules({"name": "r", "limit": 5, "window": "1s"}))
    v.load(BAD, rules({"name": "r", "limits": "5 per second"}))
    v.load(BAD, rules({"name": "r", "limits": ["5 per second"]}))
    v.load(BAD, rules({"name": "r", "limits": []}))
    v.load(OK, rules({"name": "r", "limits": [limit("user", "fixed_window", 5, "1s")]}))
    v.load(BAD, rules(rule(), rule()))
    v.load(BAD, rules(rule("a", path="/x"), rule("b", path="/x")))
    v.load(OK, rules(rule("a", path="/x"), rule("b", path="/x", method="GET")))
    v.load(BAD, rules(rule('a"b')))
    v.load(BAD, rules(rule("a\\b")))
    v.load(BAD, rules(rule("\u00e4")))
    v.load(BAD, rules(rule("")))
    v.load(BAD, rules(rule(algorithm="gcra")))
    v.load(BAD, rules(rule(scope="session")))
    v.load(BAD, rules(rule(limits=[])))
    v.load(BAD, rules(rule(limt=5)))
    v.load(BAD, rules(rule(action="block")))
    v.load(OK, rules({"name": "r", "action": "block"}))
    v.load(BAD, rules(rule(method="get")))
    v.load(BAD, rules(rule(path="no/slash")))
    v.load(BAD, rules(rule(), trusted_proxies=["10.0.0.0/33"]))
    v.load(BAD, rules(rule(), ipv6_prefix=31))
    v.load(OK, rules(rule(), ipv6_prefix=32))
    for algorithm in ("fixed_window", "sliding_log", "sliding_counter"):
        v.load(BAD, rules(rule(algorithm=algorithm, burst=10)))
    for algorithm in ("token_bucket", "leaky_bucket"):
        v.load(OK, rules(rule(algorithm=algorithm, burst=10)))
    v.load(BAD, text="rules: [{name: r, scope: user, limit: 5, limit: 6, window: 1s}]")
    v.load(BAD, text="rules: [")
    v.load(BAD, text="")
    v.load(OK, text="# YAML as well\nrules:\n  - name: r\n    scope: user\n    limit: 5\n    window: 1s\n")
    return v


def vectors():
    return [settings()]
