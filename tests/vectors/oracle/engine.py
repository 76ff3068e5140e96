"""One registry: rules in force, states held, and what each call answers (semantics 4 to 9)."""

import re
from fractions import Fraction

import algorithms
import keys
import matching
from headers import NEVER

UNITS_US = {"us": 1, "ms": 1000, "s": 10**6, "m": 60 * 10**6, "h": 3600 * 10**6, "d": 86400 * 10**6}
LIMIT_KEYS = ("scope", "algorithm", "limit", "window", "burst", "overrides")


def window_us(text):
    number, unit = re.fullmatch(r"(\d+)([a-z]+)", text).groups()
    return int(number) * UNITS_US[unit]


def scope_parts(scope):
    return [scope] if isinstance(scope, str) else list(scope)


class Limit:
    def __init__(self, rule, spec, name, tick):
        self.rule = rule
        self.name = name
        self.scope = scope_parts(spec["scope"])
        self.shadow = bool(spec.get("shadow")) or bool(rule.get("shadow"))
        self.spec = spec
        self.tick = tick

    def identity(self):
        """The rule and the limit are part of the key; the numbers are not."""
        return (self.rule["name"], self.name, ",".join(self.scope), self.spec.get("algorithm", "token_bucket"))

    def numbers(self, override):
        spec = dict(self.spec)
        if override is not None:
            spec.update(self.spec.get("overrides", {}).get(override, {}))
        return algorithms.Numbers(spec.get("algorithm", "token_bucket"), spec["limit"], window_us(spec["window"]),
                                  spec.get("burst"), self.tick)


def limits_of(rule, ticks):
    if rule.get("action", "limit") != "limit":
        return []
    specs = rule.get("limits") or [{key: rule[key] for key in LIMIT_KEYS if key in rule}]
    limits, used = [], {}
    for spec in specs:
        name = spec.get("name")
        if not name and len(specs) == 1:
            name = rule["name"]
        if not name:
            base = ",".join(scope_parts(spec["scope"]))
            used[base] = used.get(base, 0) + 1
            name = base if used[base] == 1 else f"{base}-{used[base]}"
        limits.append(Limit(rule, spec, name, ticks.get(f"{rule['name']}/{name}", 1)))
    return limits


class Refused(Exception):
    """A call that is answered by a status and by nothing else."""


class Asked:
    """One limit of one request: its key, its numbers, its state, its answer."""

    def __init__(self, limit, numbers, key):
        self.limit = limit
        self.numbers = numbers
        self.key = key
        self.state = None
        self.outcome = None


COUNTERS = ("requests", "allowed", "denied", "never_fits", "blocked", "shadow_denied", "no_rule", "unknown_client")


class Engine:
    def __init__(self, rules, ticks=None):
        self.states = {}
        self.generation = 0
        self.counters = dict.fromkeys(COUNTERS, 0)
        self.per_rule = {}
        self.put_in_force(rules, ticks or {})

    def put_in_force(self, rules, ticks):
        self.file = rules
        self.ticks = ticks
        self.generation += 1
        self.rules = list(rules.get("rules", []))
        self.default = rules.get("default")

    reload = put_in_force

    # Which rules, which limits, which keys.

    def rules_for(self, request):
        if request.get("rule"):
            every = self.rules + ([self.default] if self.default else [])
            found = [rule for rule in every if rule["name"] == request["rule"]]
            if not found:
                raise Refused("RL_E_NOT_FOUND")
            return found
        found = matching.matches(self.rules, request, self.file.get("ignore_case", False))
        if not found and self.default:
            return [self.default]
        return found if self.file.get("match") == "all" else found[:1]

    def asked(self, rules, request, now_us):
        prefix = self.file.get("ipv6_prefix", 64)
        out = []
        for rule in rules:
            for limit in limits_of(rule, self.ticks):
                value, override = keys.key_for(limit.scope, request, prefix)
                one = Asked(limit, limit.numbers(override), (limit.identity(), value))
                one.now = now_us // one.numbers.tick
                one.cost = self.cost_of(request, rule)
                self.take_over(one, now_us)
                out.append(one)
        return out

    def take_over(self, one, now_us):
        """The state as it stands for these numbers: carried over from a reload, and not ahead of the clock."""
        numbers, state = self.states.get(one.key, (one.numbers, None))
        one.held = state
        if state is not None and numbers.key() != one.numbers.key():
            was = now_us // numbers.tick
            state = algorithms.repaired(numbers, state, was)
            algorithm = algorithms.ALGORITHMS[numbers.algorithm]
            if algorithm.is_new(numbers, state, was):
                state = None
            else:
                state = algorithm.convert(numbers, one.numbers, state, was, one.now)
        one.state = algorithms.repaired(one.numbers, state, one.now)

    def keep(self, one):
        algorithm = algorithms.ALGORITHMS[one.numbers.algorithm]
        if one.state is None or algorithm.is_new(one.numbers, one.state, one.now):
            self.states.pop(one.key, None)
        else:
            self.states[one.key] = (one.numbers, one.state)

    @staticmethod
    def cost_of(request, rule):
        cost = request.get("cost")
        if cost is None:
            return rule.get("cost", 1) if rule else 1
        if cost < 1:
            raise Refused("RL_E_INVALID_ARGUMENT")
        return cost

    # Deciding.

    def allow(self, now_ns, request):
        return self.decide(now_ns, request, spend=True)

    def peek(self, now_ns, request):
        return self.decide(now_ns, request, spend=False)

    def decide(self, now_ns, request, spend):
        now_us = now_ns // 1000
        self.cost_of(request, None)
        rules = self.rules_for(request)
        answer = self.blank(rules, request, now_ns, peeked=not spend)
        if not rules:
            answer["source"] = "no_rule"
        elif any(rule.get("action") == "block" for rule in rules):
            answer.update(allowed=False, source="action", reason="blocked", retry_after_ns=str(NEVER))
        else:
            self.ask(self.asked(rules, request, now_us), answer, now_us, spend)
            if not answer["limit_count"]:
                answer["source"] = "action"
        if spend:
            self.count(answer, rules)
        return answer

    def blank(self, rules, request, now_ns, peeked):
        rule = rules[0] if rules else None
        return {
            "status": "RL_OK", "allowed": True, "source": "exact", "reason": "none", "shadow_denied": False,
            "peeked": peeked, "rule": rule["name"] if rule else "", "limit_name": "", "limit_count": 0,
            "generation": self.generation, "cost": self.cost_of(request, rule), "limit": 0, "window_ns": "0",
            "capacity": 0, "remaining": 0, "retry_after_ns": "0", "reset_after_ns": "0", "delay_ns": "0",
        }

    def ask(self, asked, answer, now_us, spend):
        if spend:
            self.counters["unknown_client"] += any(("unknown",) in one.key[1] for one in asked)
        for one in asked:
            one.outcome = algorithms.evaluate(one.numbers, one.state, one.now, one.cost)
        passes = all(one.outcome.allowed or one.limit.shadow for one in asked)
        for one in asked:
            if spend:
                if passes and one.outcome.allowed:
                    algorithm = algorithms.ALGORITHMS[one.numbers.algorithm]
                    one.state = algorithm.spend(one.numbers, one.state, one.now, one.cost)
                self.keep(one)
            algorithms.describe(one.numbers, one.state, one.now, one.outcome)
        answer["allowed"] = passes
        answer["limit_count"] = len(asked)
        answer["shadow_denied"] = any(one.limit.shadow and not one.outcome.allowed for one in asked)
        enforced = [one for one in asked if not one.limit.shadow]
        if passes:
            answer["delay_ns"] = str(max([one.outcome.delay * one.numbers.tick for one in enforced], default=0) * 1000)
        self.tell_binding(self.binding(enforced, passes), answer, now_us)

    @staticmethod
    def binding(enforced, passes):
        """Denied: the longest wait. Allowed: the smallest fraction left. First in order on a tie."""
        best, best_rank = None, None
        for one in enforced:
            if passes:
                rank = -Fraction(one.outcome.remaining, one.numbers.capacity)
            elif one.outcome.allowed:
                continue
            else:
                rank = float("inf") if one.outcome.never_fits else one.outcome.retry_at * one.numbers.tick
            if best is None or rank > best_rank:
                best, best_rank = one, rank
        return best

    @staticmethod
    def tell_binding(one, answer, now_us):
        if one is None:
            return
        n, outcome = one.numbers, one.outcome
        after = lambda tick: str(max(0, tick * n.tick - now_us) * 1000)
        answer.update(rule=one.limit.rule["name"], limit_name=one.limit.name, limit=n.limit,
                      window_ns=str(n.window_us * 1000), capacity=n.capacity, remaining=outcome.remaining,
                      reset_after_ns=after(outcome.reset_at))
        if not answer["allowed"]:
            answer["reason"] = "never_fits" if outcome.never_fits else "limited"
            answer["retry_after_ns"] = str(NEVER) if outcome.never_fits else after(outcome.retry_at)

    def count(self, answer, rules):
        counters = self.counters
        counters["requests"] += 1
        counters["allowed" if answer["allowed"] else "denied"] += 1
        for name in ("never_fits", "blocked"):
            counters[name] += answer["reason"] == name
        counters["shadow_denied"] += answer["shadow_denied"]
        counters["no_rule"] += answer["source"] == "no_rule"
        for rule in rules:
            mine = self.per_rule.setdefault(rule["name"], {"allowed": 0, "denied": 0, "never_fits": 0,
                                                           "shadow_denied": 0, "cost_allowed": 0})
            mine["allowed" if answer["allowed"] else "denied"] += 1
            mine["never_fits"] += answer["reason"] == "never_fits"
            mine["shadow_denied"] += answer["shadow_denied"]
            mine["cost_allowed"] += answer["cost"] if answer["allowed"] else 0

    # After the work, and housekeeping.

    def settle(self, now_ns, request, decision, decided_ns, actual):
        spent_something = decision["allowed"] and not decision["peeked"] and decision["limit_count"]
        if not spent_something or actual < 0:
            raise Refused("RL_E_INVALID_ARGUMENT")
        now_us = now_ns // 1000
        rules = self.rules_for(request)
        asked = self.asked(rules, request, now_us)
        for one in asked:
            algorithm = algorithms.ALGORITHMS[one.numbers.algorithm]
            charged = decided_ns // 1000 // one.numbers.tick
            if actual != decision["cost"]:
                one.state = algorithm.settle(one.numbers, one.state, one.now, charged, decision["cost"], actual)
            self.keep(one)
            one.outcome = algorithms.Outcome(True, False, one.now, 0)
            algorithms.describe(one.numbers, one.state, one.now, one.outcome)
        answer = self.blank(rules, request, now_ns, peeked=False)
        self.tell_binding(self.binding([one for one in asked if not one.limit.shadow], True), answer, now_us)
        return {name: answer[name] for name in
                ("status", "allowed", "rule", "limit_name", "limit", "window_ns", "capacity", "remaining",
                 "retry_after_ns", "reset_after_ns")}

    def reset(self, now_ns, request):
        for one in self.asked(self.rules_for(request), request, now_ns // 1000):
            self.states.pop(one.key, None)

    def expiry_us(self, key):
        numbers, state = self.states[key]
        algorithm = algorithms.ALGORITHMS[numbers.algorithm]
        start = algorithm.stored(numbers, state)
        return algorithms.first_tick(lambda t: algorithm.is_new(numbers, state, t), start) * numbers.tick

    def evict_idle(self, cutoff_ns):
        idle = [key for key in self.states if self.expiry_us(key) <= cutoff_ns // 1000]
        for key in idle:
            del self.states[key]
        return len(idle)

    def key_count(self):
        return len(self.states)

    def client_ip(self, peer, x_forwarded_for, forwarded):
        return keys.client_ip(peer, x_forwarded_for, forwarded, self.file.get("trusted_proxies", []),
                              self.file.get("client_ip_from", "any"))
