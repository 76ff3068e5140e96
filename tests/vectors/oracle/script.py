"""How a case is written down: a timeline of calls, each answered by the oracle and, where a number is known from
elsewhere (the semantics, a field case), checked against it by hand."""

from fractions import Fraction

import headers
from engine import Engine, Refused

BASE_NS = 1_700_006_400_000_000_000  # 2023-11-15T00:00:00Z: a border of every window up to a day

HEADER_DEFAULT = ("x", "retry_after")


def ns(at):
    """A time of a script in nanoseconds: seconds as int, Fraction or decimal text ("0.2"), or "12500ns"."""
    if isinstance(at, str) and at.endswith("ns"):
        return int(at[:-2])
    exact = Fraction(at) * 10**9
    assert exact.denominator == 1, at
    return exact.numerator


def plain(value):
    """What a written-down value stands for: bytes as hex and repeated text are strings of their own."""
    if isinstance(value, dict) and set(value) == {"hex"}:
        return bytes.fromhex(value["hex"]).decode("utf-8", "surrogateescape")
    if isinstance(value, dict) and set(value) == {"repeat", "times"}:
        return value["repeat"] * value["times"]
    if isinstance(value, dict):
        return {name: plain(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [plain(inner) for inner in value]
    return value


class Vector:
    """One timeline. Times are relative to `base`."""

    def __init__(self, name, refs, about, rules, base=BASE_NS, ticks=None):
        self.name, self.refs, self.about, self.rules, self.base = name, refs, about, rules, base
        self.engine = Engine(rules, ticks)
        self.steps = []
        self.decisions = {}

    def _add(self, at, op, **fields):
        step = {"at": str(ns(at)), "op": op}
        step.update({key: value for key, value in fields.items() if value is not None})
        self.steps.append(step)
        return len(self.steps) - 1

    def _decide(self, at, op, request, want):
        at_ns = self.base + ns(at)
        try:
            answer = getattr(self.engine, op)(at_ns, plain(request))
        except Refused as refusal:
            answer = {"status": str(refusal)}
        check(self, want, answer)
        index = self._add(at, op, request=request, expect=answer)
        self.decisions[index] = (answer, at_ns, request)
        return index

    def allow(self, at, want=None, **request):
        """want: "A", "D", or a dict of fields known by hand. Returns the step's number."""
        return self._decide(at, "allow", request, want)

    def peek(self, at, want=None, **request):
        return self._decide(at, "peek", request, want)

    def allow_n(self, at, times, want=None, **request):
        for _ in range(times):
            self.allow(at, want, **request)

    def many(self, at, requests, want=None):
        answers = []
        for request in requests:
            try:
                answers.append(self.engine.allow(self.base + ns(at), plain(request)))
            except Refused as refusal:
                answers.append({"status": str(refusal)})
        for letter, answer in zip(want or "", answers):
            check(self, letter, answer)
        self._add(at, "many", requests=requests, expect=answers)

    def repeat(self, at, times, every_ns, want_allowed=None, **request):
        """The same request over and over; only how many were let through is told."""
        allowed = 0
        for i in range(times):
            allowed += self.engine.allow(self.base + ns(at) + i * every_ns, request)["allowed"]
        assert want_allowed in (None, allowed), f"{self.name}: {allowed} allowed, {want_allowed} known by hand"
        self._add(at, "repeat", times=times, every=str(every_ns), request=request, expect={"allowed_count": allowed})

    def settle(self, at, of, actual, want=None):
        decision, decided_ns, request = self.decisions[of]
        try:
            answer = self.engine.settle(self.base + ns(at), plain(request), decision, decided_ns, actual)
        except Refused as refusal:
            answer = {"status": str(refusal)}
        check(self, want, answer)
        self._add(at, "settle", of=of, actual=actual, expect=answer)

    def reset(self, at, **request):
        self.engine.reset(self.base + ns(at), plain(request))
        self._add(at, "reset", request=request, expect={"status": "RL_OK"})

    def reload(self, at, rules, ticks=None):
        self.engine.reload(rules, ticks or {})
        self._add(at, "reload", rules=rules, expect={"status": "RL_OK", "generation": self.engine.generation})

    def refused_reload(self, at, text):
        """A rule text with faults: the old rules stay."""
        self._add(at, "reload", rules_text=text, expect={"status": "RL_E_CONFIG", "generation": self.engine.generation})

    def load(self, status, rules=None, text=None):
        """A rule set by itself, beside the one in force. What is right is said by hand."""
        self._add(0, "load", rules=rules, rules_text=text, expect={"status": status})

    def headers(self, of, *forms, want=None):
        decision, at_ns, _ = self.decisions[of]
        lines = headers.fields(decision, forms or HEADER_DEFAULT, at_ns)
        assert want is None or lines == want, f"{self.name}: {lines}, by hand {want}"
        self._add(0, "headers", of=of, forms=list(forms), expect={"lines": lines})

    def problem(self, of, want=None):
        """The members of the problem body that are numbers or names; None for one that is left out."""
        decision = self.decisions[of][0]
        if decision["allowed"]:
            answer = {"status_name": "RL_E_INVALID_ARGUMENT"}
        else:
            answer = {"status_name": "RL_OK", "members": headers.problem(decision)}
        check(self, want, answer.get("members", answer))
        self._add(0, "problem", of=of, expect=answer)

    def client_ip(self, peer, x_forwarded_for=(), forwarded=(), want=None):
        ip = self.engine.client_ip(peer, list(x_forwarded_for), list(forwarded))
        assert want in (None, ip), f"{self.name}: {ip}, by hand {want}"
        self._add(0, "client_ip", peer=peer, x_forwarded_for=list(x_forwarded_for), forwarded=list(forwarded),
                  expect={"ip": ip})
        return ip

    def evict_idle(self, at, cutoff=None, want=None):
        evicted = self.engine.evict_idle(self.base + ns(at if cutoff is None else cutoff))
        assert want in (None, evicted), f"{self.name}: {evicted} evicted, by hand {want}"
        self._add(at, "evict_idle", cutoff=str(ns(at if cutoff is None else cutoff)), expect={"evicted": evicted})

    def key_count(self, at, want=None):
        count = self.engine.key_count()
        assert want in (None, count), f"{self.name}: {count} keys, by hand {want}"
        self._add(at, "key_count", expect={"keys": count})

    def metrics(self, at, rules=(), want=None):
        totals = dict(self.engine.counters)
        check(self, want, totals)
        self._add(at, "metrics", expect={"totals": totals,
                                         "rules": {name: dict(self.engine.per_rule[name]) for name in rules}})

    def document(self):
        out = {"name": self.name, "refs": self.refs, "about": self.about, "base": str(self.base)}
        request, expect = self._shared("request"), self._shared("expect")
        out["defaults"] = {"request": request, "expect": expect}
        out["rules"] = self.rules
        out["steps"] = [self._short(step, request, expect) for step in self.steps]
        return out

    def _deciding(self):
        return [step for step in self.steps if step["op"] in ("allow", "peek")]

    def _shared(self, part):
        """The value that a field has most often, of fields that all have; steps name a field only where theirs differs."""
        steps = [step for step in self._deciding() if part == "request" or step["expect"]["status"] == "RL_OK"]
        counts = {}
        for step in steps:
            for name, value in step[part].items():
                row = counts.setdefault(name, {})
                count, _ = row.get(repr(value), (0, None))
                row[repr(value)] = (count + 1, value)
        return {name: max(row.values(), key=lambda pair: pair[0])[1] for name, row in counts.items()
                if sum(count for count, _ in row.values()) == len(steps)}

    def _short(self, step, request, expect):
        if step["op"] not in ("allow", "peek"):
            return step
        short = dict(step)
        short["request"] = {name: value for name, value in step["request"].items() if request.get(name) != value}
        if step["expect"]["status"] == "RL_OK":
            short["expect"] = {name: value for name, value in step["expect"].items()
                               if name not in expect or expect[name] != value}
        return {name: value for name, value in short.items() if value != {}}


IN_SECONDS = {"retry": "retry_after_ns", "reset": "reset_after_ns", "delay": "delay_ns"}


def check(vector, want, answer):
    """`want`: "A", "D", a status, or fields; retry, reset and delay in seconds, "never" for no end."""
    if want is None:
        return
    if isinstance(want, str):
        want = {"status": want} if want.startswith("RL_") else {"allowed": want == "A"}
    for name, value in want.items():
        if name in IN_SECONDS:
            name, value = IN_SECONDS[name], str(headers.NEVER if value == "never" else ns(value))
        have = answer.get(name)
        assert have == value, f"{vector.name}: {name} is {have!r}, by hand {value!r} (step {len(vector.steps)})"


def rule(name="r", scope="user", algorithm="token_bucket", limit=5, window="1s", **more):
    out = {"name": name}
    for key in ("method", "path", "path_match", "when"):
        if key in more:
            out[key] = more.pop(key)
    out.update(scope=scope, algorithm=algorithm, limit=limit, window=window)
    out.update(more)
    return out


def limit(scope, algorithm, limit, window, **more):
    out = {"scope": scope, "algorithm": algorithm, "limit": limit, "window": window}
    out.update(more)
    return out


def rules(*some, **settings):
    """A rule file. Rules without a path cover everything."""
    return {"version": 1, **settings, "rules": list(some)}
