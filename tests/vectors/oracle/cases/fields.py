"""Header fields of decisions (docs/headers.md)."""

from script import Vector, rule, rules


def every_form():
    v = Vector("header-forms", ["issue: headers", "B111", "B117"], "One decision in every form.",
               rules(rule("api", limit=100, window="1m")))
    allowed = v.allow(0, {"remaining": 50, "reset": 30}, user="u", cost=50)
    v.headers(allowed, want=["X-RateLimit-Limit: 100", "X-RateLimit-Remaining: 50", "X-RateLimit-Reset: 1700006430"])
    v.headers(allowed, "x", "reset_delta", want=["X-RateLimit-Limit: 100", "X-RateLimit-Remaining: 50", "X-RateLimit-Reset: 30"])
    v.headers(allowed, "draft_11", want=['RateLimit-Policy: "api";q=100;w=60', 'RateLimit: "api";r=50;t=30'])
    v.headers(allowed, "draft_8", want=['RateLimit-Policy: "api";q=100;w=60', 'RateLimit: "api";r=50;t=30'])
    v.headers(allowed, "draft_7", want=["RateLimit-Policy: 100;w=60", "RateLimit: limit=100, remaining=50, reset=30"])
    v.headers(allowed, "draft_6", want=["RateLimit-Limit: 100", "RateLimit-Remaining: 50", "RateLimit-Reset: 30",
                                        "RateLimit-Policy: 100;w=60"])
    v.headers(allowed, "none", want=[])
    v.headers(allowed, "retry_after", want=[])
    denied = v.allow(0, {"allowed": False, "retry": 30, "reset": 30}, user="u", cost=100)
    v.headers(denied, "draft_11", "retry_after",
              want=['RateLimit-Policy: "api";q=100;w=60', 'RateLimit: "api";r=50;t=30', "Retry-After: 30"])
    v.headers(denied, "x", "draft_7", "retry_after")
    return v


def rounding():
    v = Vector("retry-after-rounds-up", ["B108"], "0.2 s, 0.9 s and 1.9 s left: 1, 1 and 2.",
               rules(rule(algorithm="sliding_log", limit=1, window="2s")))
    v.allow(0, "A", user="u")
    for at, left, seconds in (("1.8", "0.2", 1), ("1.1", "0.9", 1), ("0.1", "1.9", 2), ("0.999999", "1.000001", 2), ("1", 1, 1)):
        denied = v.allow(at, {"allowed": False, "retry": left}, user="u")
        v.headers(denied, "retry_after", want=[f"Retry-After: {seconds}"])
        v.headers(denied, "x", want=["X-RateLimit-Limit: 1", "X-RateLimit-Remaining: 0", "X-RateLimit-Reset: 1700006402"])
        v.headers(denied, "draft_11", want=['RateLimit-Policy: "r";q=1;w=2', f'RateLimit: "r";r=0;t={seconds}'])
    return v


def burst():
    v = Vector("header-burst", ["issue: headers"], "Remaining is measured against the burst, so the drafts tell it beside the rate.",
               rules(rule("api", limit=60, window="60s", burst=10)))
    allowed = v.allow(0, {"remaining": 9}, user="u")
    v.headers(allowed, "x", want=["X-RateLimit-Limit: 10", "X-RateLimit-Remaining: 9", "X-RateLimit-Reset: 1700006401"])
    v.headers(allowed, "draft_11", want=['RateLimit-Policy: "api";q=60;w=60;ratel-burst=10', 'RateLimit: "api";r=9;t=1'])
    v.headers(allowed, "draft_7", want=["RateLimit-Policy: 60;w=60;burst=10", "RateLimit: limit=10, remaining=9, reset=1"])
    return v


def small_and_large():
    v = Vector("header-small-and-large", ["issue: headers"], "A window below a second is w=1; a structured integer ends at fifteen digits.",
               rules(rule("quick", limit=5, window="250ms", path="/quick"),
                     rule("huge", algorithm="fixed_window", limit=2**51, window="1us", path="/huge")))
    quick = v.allow(0, {"remaining": 4}, user="u", path="/quick")
    v.headers(quick, "draft_11", want=['RateLimit-Policy: "quick";q=5;w=1', 'RateLimit: "quick";r=4;t=1'])
    huge = v.allow(0, {"remaining": 2**51 - 1}, user="u", path="/huge")
    v.headers(huge, "draft_11", want=['RateLimit-Policy: "huge";q=999999999999999;w=1', 'RateLimit: "huge";r=999999999999999;t=1'])
    v.headers(huge, "x", "reset_delta", want=[f"X-RateLimit-Limit: {2**51}", f"X-RateLimit-Remaining: {2**51 - 1}", "X-RateLimit-Reset: 1"])
    return v


def problems():
    v = Vector("problem-bodies", ["issue: headers", "B030", "B111"], "What a denial is told as, and the status that goes with it.",
               rules(rule("api", limit=2, window="1m", path="/api"), {"name": "admin", "path": "/admin", "action": "block"}))
    allowed = v.allow(0, "A", user="u", path="/api", cost=2)
    v.problem(allowed)
    limited = v.allow("0.5", {"allowed": False, "retry": "29.5"}, user="u", path="/api")
    v.problem(limited, {"status": 429, "retry_after": 30, "reset_after": 60, "limit": "api"})
    v.problem(v.allow(0, "D", user="v", path="/api", cost=3), {"status": 429, "reason": "never_fits", "retry_after": None})
    v.problem(v.allow(0, "D", user="u", path="/admin"), {"status": 403, "reason": "blocked", "limit": None, "rule": "admin"})
    return v


def nanoseconds():
    v = Vector("reset-from-the-microsecond", ["issue: headers", "semantics 1"],
               "The reset is measured from the microsecond of the decision: nanoseconds do not make it a second later.",
               rules(rule(algorithm="fixed_window", limit=1, window="1us")))
    last = v.allow("1999999999ns", {"reset": "0.000001"}, user="u")
    v.headers(last, "x", want=["X-RateLimit-Limit: 1", "X-RateLimit-Remaining: 0", "X-RateLimit-Reset: 1700006402"])
    return v


def vectors():
    return [problems(), nanoseconds(), every_form(), rounding(), burst(), small_and_large()]
