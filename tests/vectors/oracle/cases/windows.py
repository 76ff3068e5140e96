"""Fixed window, sliding log and sliding counter at their edges."""

from script import Vector, rule, rules


def log_edge():
    v = Vector("log-entry-of-one-window-is-gone", ["semantics 2", "B048"], "An entry aged exactly one window no longer counts.",
               rules(rule(algorithm="sliding_log", limit=2, window="1s")))
    v.allow("0.1", "A", user="u")
    v.allow("0.6", "A", user="u")
    v.allow("1.099999", {"allowed": False, "retry": "0.000001", "reset": "0.500001"}, user="u")
    v.allow("1.1", {"allowed": True, "remaining": 0, "reset": 1}, user="u")
    v.allow("1.6", "A", user="u")
    return v


def log_costs():
    v = Vector("log-costs", ["B063", "B054"], "Log, 10 per min: cost 5, then 100 never fits, then the sum decides, not the single cost.",
               rules(rule(algorithm="sliding_log", limit=10, window="1m")))
    v.allow(0, {"remaining": 5}, user="u", cost=5)
    v.allow(1, {"allowed": False, "reason": "never_fits", "remaining": 5}, user="u", cost=100)
    v.allow(2, {"remaining": 2}, user="u", cost=3)
    v.allow(3, {"allowed": False, "retry": 57}, user="u", cost=3)
    v.allow(3, {"allowed": False, "retry": 57}, user="u", cost=7)
    v.allow(3, {"allowed": False, "retry": 59}, user="u", cost=8)
    v.allow(60, {"allowed": True, "remaining": 0}, user="u", cost=7)
    return v


def log_merges():
    v = Vector("log-merges-equal-times", ["semantics 2"], "Requests of one microsecond are one entry and leave together.",
               rules(rule(algorithm="sliding_log", limit=4, window="1s")))
    for at in ("0", "0", "900ns", "0.000001"):
        v.allow(at, "A", user="u")
    v.allow(1, {"allowed": True, "remaining": 2}, user="u")
    v.allow("1.000001", {"allowed": True, "remaining": 2}, user="u")
    return v


def fixed_border():
    v = Vector("fixed-twice-over-the-border", ["semantics 2", "B075", "B105"],
               "L per 60 s: L at 59.999 and L at 60.000 pass, 2L in a millisecond, by design; the reset stays where it is.",
               rules(rule(algorithm="fixed_window", limit=3, window="60s")))
    for at, reset in (("59.997", "0.003"), ("59.998", "0.002"), ("59.999", "0.001")):
        v.allow(at, {"allowed": True, "reset": reset}, user="u")
    v.allow("59.999", {"allowed": False, "retry": "0.001", "reset": "0.001"}, user="u")
    v.allow_n(60, 3, "A", user="u")
    v.allow(60, {"allowed": False, "retry": 60}, user="u")
    return v


def denied_does_not_extend():
    v = Vector("denied-does-not-extend", ["B078", "B120", "B081"], "Denied calls neither charge nor push the window's end.",
               rules(rule("hour", algorithm="fixed_window", limit=1, window="1h", path="/hour"),
                     rule("log", algorithm="sliding_log", limit=10, window="10s", path="/log"),
                     rule("counter", algorithm="sliding_counter", limit=10, window="10s", path="/counter")))
    v.allow(0, "A", user="u", path="/hour")
    v.allow(3540, {"allowed": False, "retry": 60}, user="u", path="/hour")
    v.allow(3600, "A", user="u", path="/hour")
    v.allow(0, {"remaining": 4}, user="u", path="/log", cost=6)
    for second in range(1, 10):
        v.allow(second, {"allowed": False, "remaining": 4, "retry": 10 - second}, user="u", path="/log", cost=5)
    v.allow(10, {"allowed": True, "remaining": 5}, user="u", path="/log", cost=5)
    v.allow(0, {"remaining": 2}, user="u", path="/counter", cost=8)
    v.allow(5, {"allowed": False, "remaining": 2, "retry": "6.25"}, user="u", path="/counter", cost=3)
    v.allow("11.25", {"allowed": True, "remaining": 0}, user="u", path="/counter", cost=3)
    return v


def counter_weighs():
    v = Vector("counter-weighs-the-previous", ["B066"], "Counter 100: previous 50, current 10, 10 % in: 45 remain.",
               rules(rule(algorithm="sliding_counter", limit=100, window="100s")), base=10**9 * 100)
    v.allow(0, "A", user="u", cost=50)
    v.allow(100, {"remaining": 40}, user="u", cost=10)
    v.peek(110, {"remaining": 45}, user="u")
    return v


def counter_idle():
    v = Vector("counter-long-idle", ["B069"], "After two idle windows the previous count is nothing, and never negative.",
               rules(rule(algorithm="sliding_counter", limit=10, window="1s")))
    v.allow("0.5", {"reset": "1.5"}, user="u", cost=10)
    v.peek("1.999999", {"allowed": True, "remaining": 9, "reset": "0.000001"}, user="u")
    v.peek("2", {"allowed": True, "remaining": 10, "reset": 0}, user="u")
    v.allow(10**6, {"allowed": True, "remaining": 9}, user="u")
    v.allow(10**6, {"allowed": True, "remaining": 0}, user="u", cost=9)
    v.allow(10**6, "D", user="u")
    return v


def counter_half_way():
    v = Vector("counter-wait-is-exact", ["B093"],
               "4 used in the previous window, half way into this one: 2 are still to be released in it, and the wait says when.",
               rules(rule(algorithm="sliding_counter", limit=4, window="10s")))
    v.allow_n(0, 4, "A", user="u")
    v.allow(15, {"allowed": True, "remaining": 1}, user="u")
    v.allow(15, {"allowed": True, "remaining": 0}, user="u")
    v.allow(15, {"allowed": False, "retry": "2.5"}, user="u")
    v.allow("17.499999", "D", user="u")
    v.allow("17.5", "A", user="u")
    return v


def counter_next_window():
    v = Vector("counter-wait-in-the-next-window", ["semantics 2"],
               "What this window's own count keeps out passes in the next one, when that count has lost weight.",
               rules(rule(algorithm="sliding_counter", limit=10, window="10s")))
    v.allow(2, "A", user="u", cost=10)
    v.allow(2, {"allowed": False, "retry": 9}, user="u")
    v.allow(2, {"allowed": False, "retry": 18}, user="u", cost=10)
    v.allow("10.999999", "D", user="u")
    v.allow(11, "A", user="u")
    return v


def counter_thirds():
    v = Vector("counter-thirds", ["semantics 3"], "Weights that are no whole microseconds: rounded up, and tight.",
               rules(rule(algorithm="sliding_counter", limit=7, window="1s")))
    v.allow("0.3", "A", user="u", cost=7)
    v.allow("0.3", {"allowed": False, "retry": "0.842858"}, user="u")
    v.allow("1.142857", "D", user="u")
    v.allow("1.142858", "A", user="u")
    return v


def counter_last_tick():
    v = Vector("counter-last-tick", ["semantics 2", "semantics 3"], "The previous window may still be in the way in its very last microsecond.",
               rules(rule(algorithm="sliding_counter", limit=10, window="10us")))
    v.allow(0, "A", user="u", cost=10)
    v.allow("10000ns", {"allowed": False, "retry": "0.000009"}, user="u", cost=9)
    v.allow("18000ns", {"allowed": False, "retry": "0.000001"}, user="u", cost=9)
    v.allow("19000ns", {"allowed": True, "remaining": 0}, user="u", cost=9)
    v.allow("20000ns", {"allowed": True, "remaining": 0}, user="u")
    return v


def fixed_costs():
    v = Vector("fixed-costs", ["semantics 2"], "Costs in a fixed window wait for its end, whatever they are.",
               rules(rule(algorithm="fixed_window", limit=10, window="10s")))
    v.allow(3, {"remaining": 4, "reset": 7}, user="u", cost=6)
    v.allow(4, {"allowed": False, "retry": 6, "remaining": 4}, user="u", cost=5)
    v.allow(5, {"allowed": True, "remaining": 0}, user="u", cost=4)
    v.allow("9.999999", "D", user="u")
    v.allow(10, {"allowed": True, "remaining": 0}, user="u", cost=10)
    return v


def windows_below_a_second():
    v = Vector("small-windows", ["semantics 2"], "Windows of 250 ms and of one microsecond.",
               rules(rule("quarter", algorithm="fixed_window", limit=1, window="250ms", path="/quarter"),
                     rule("tick", algorithm="sliding_log", limit=1, window="1us", path="/tick"),
                     rule("count", algorithm="sliding_counter", limit=1, window="1us", path="/count")))
    v.allow("0.1", {"allowed": True, "reset": "0.15"}, user="u", path="/quarter")
    v.allow("0.249999", {"allowed": False, "retry": "0.000001"}, user="u", path="/quarter")
    v.allow("0.25", "A", user="u", path="/quarter")
    v.allow(0, "A", user="u", path="/tick")
    v.allow("999ns", {"allowed": False, "retry": "0.000001"}, user="u", path="/tick")
    v.allow("1000ns", "A", user="u", path="/tick")
    v.allow(0, "A", user="u", path="/count")
    v.allow("1000ns", {"allowed": False, "retry": "0.000001"}, user="u", path="/count")
    v.allow("2000ns", "A", user="u", path="/count")
    return v


def vectors():
    return [log_edge(), log_costs(), log_merges(), fixed_border(), denied_does_not_extend(), counter_weighs(), counter_idle(),
            counter_half_way(), counter_next_window(), counter_thirds(), counter_last_tick(), fixed_costs(), windows_below_a_second()]
