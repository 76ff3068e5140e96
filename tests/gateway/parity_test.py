"""All gateways side by side: one script of HTTP, and every answer the same, whatever language stands behind it.

Compared are the status, every field that is not listed in OF_THE_STACK (Ratel's own with their names letter by letter)
and the body, byte for byte. Not compared are the phrase after the status and the order of fields with different names:
both are the HTTP library's, and mean nothing. What was left out is listed at the end. docs/gateway.md says that
cpp-httplib undoes %XX in fields: none is sent here.

No value may depend on when a gateway was asked. Spans are whole seconds, rounded up from the first unit that was spent,
so they are the same in all scripts that end within a second of that. A script that took longer has said nothing: it is
run again, on a new gateway. Epoch seconds are looked at with windows that end for all gateways at one instant.
"""
import re
import shlex
import sys
import threading
import time
import unittest

import harness
import proxy_test
import wire

GATEWAYS = {}  # name: command
LEFT_OUT = {}  # name: fields of the stack that came
ATTEMPTS = 30

# What an HTTP library says on its own account: how answers are framed, how long connections last, who it is, what time
# it is. cpp-httplib offers ranges in every answer to HEAD.
OF_THE_STACK = {"date", "server", "connection", "keep-alive", "content-length", "transfer-encoding", "accept-ranges"}
# Likewise towards the server behind, and what cpp-httplib's client adds where the request had none.
OF_THE_CLIENT = re.compile(r"(connection|keep-alive|content-length|transfer-encoding|host):"
                           r"|accept: \*/\*$|user-agent: cpp-httplib/")
EPOCH = r"X-RateLimit-Reset: \d{10}"
OURS = re.compile(r"(x-ratelimit-.*|ratelimit.*|retry-after)$", re.I)

HEADERS = "headers: {x_ratelimit: true, retry_after: true, reset: delta, ietf: draft-11}"
RULES = f"""
version: 1
trusted_proxies: [127.0.0.0/8, 10.0.0.0/8]
{HEADERS}
rules:
  - {{name: orders, method: POST, path: /orders, scope: user, algorithm: token_bucket, limit: 3, window: 3d}}
  - {{name: keys, path: /keys, scope: api_key, algorithm: sliding_log, limit: 2, window: 2d}}
  - {{name: reports, path: /reports, cost: 10, scope: user, algorithm: token_bucket, limit: 30, window: 30d}}
  - {{name: mail, path: /mail, scope: user, algorithm: leaky_bucket, limit: 10, window: 1s, burst: 2}}
  - {{name: "say ~!'<>&", path: /odd, scope: user, algorithm: token_bucket, limit: 1, window: 9d, burst: 2}}
  - {{name: internal, path: /internal, action: block}}
  - {{name: health, path: /health, action: unlimited}}
  - name: search
    path: /search
    limits:
      - {{name: per-user, scope: user, algorithm: sliding_log, limit: 2, window: 1d}}
      - {{name: everyone, scope: global, algorithm: token_bucket, limit: 3, window: 3d}}
default: {{name: others, scope: ip, algorithm: token_bucket, limit: 2, window: 2d}}
"""


class TookTooLong(Exception):
    """The clock may have come between two gateways."""


class Session:
    """One gateway under the script: asks, and writes down what is to be the same everywhere."""

    def __init__(self, command, rules, arguments):
        self.gateway = harness.Gateway(rules, *arguments, command=command)
        self.wire = wire.Wire(self.gateway.port)
        self.log, self.began, self.left_out = [], None, set()

    def ask(self, method, target, *fields, masked=False, **body):
        self.began = self.began or time.monotonic()
        answer = self.wire.ask(method, target, *fields, **body)
        self.left_out |= {name for name, _ in answer.lines if name.lower() in OF_THE_STACK}
        self.note(f"{method} {target[:60]} {' | '.join(fields)[:120]}", compared(answer, masked))
        return answer

    def note(self, what, seen):
        self.log.append((what, seen))

    def check_time(self):
        if self.began and time.monotonic() - self.began >= 1:
            raise TookTooLong

    def end(self):
        self.wire.close()
        return self.gateway.stop()


def compared(answer, masked=False):
    """What of an answer is compared; masked: the numbers depend on the time it took."""
    fields = sorted(f"{name if OURS.match(name) else name.lower()}: {value}"
                    for name, value in answer.lines if name.lower() not in OF_THE_STACK)
    if masked:
        fields = [re.sub(r"\d+", "N", field) for field in fields]
    return {"status": answer.status, "fields": fields, "body": answer.body}


def differences(expected, got):
    """Lines that say where two logs part."""
    for (what, one), (_, other) in zip(expected, got):
        for part in one:
            if one[part] != other[part]:
                yield f"{what}\n  {part} expected {one[part]}\n  {part} is       {other[part]}"
    if len(expected) != len(got):
        yield f"{len(got)} answers in place of {len(expected)}"


class Parity(unittest.TestCase):
    def compare(self, script, rules=RULES, arguments=(), timeless=False):
        """Runs the script against every gateway. timeless: nothing in it depends on how long it took."""
        logs = {name: self.run_script(name, script, rules, arguments, timeless) for name in GATEWAYS}
        (first, expected), *others = logs.items()
        self.assertTrue(expected)
        if "reset: epoch" not in rules:
            self.assertNotRegex(str(expected), EPOCH, "the script would depend on the clock")
        for name, log in others:
            with self.subTest(gateway=name, like=first):
                found = "\n".join(differences(expected, log))
                if found:
                    self.fail(f"{name} is not as {first}:\n{found}")
        return expected

    def run_script(self, name, script, rules, arguments, timeless):
        for _ in range(ATTEMPTS):
            session = Session(GATEWAYS[name], rules, arguments() if callable(arguments) else arguments)
            try:
                script(session)
                if not timeless:
                    session.check_time()
                return session.log
            except TookTooLong:
                continue
            finally:
                LEFT_OUT.setdefault(name, set()).update(session.left_out)
                self.assertEqual(session.end(), 0, name)
        self.fail(f"{name}: the script never ended within a second")
        return []

    def statuses(self, log):
        return [seen["status"] for _, seen in log]


class Decisions(Parity):
    def test_users_and_denials(self):
        def script(s):
            for user in ("alice", "bob", "Ünïcode", "\xff\xfe", "a\tb", "u" * 4000):
                for _ in range(4):
                    s.ask("POST", "/orders", f"X-User: {user}")
            for line in ("Authorization: Bearer alice", "authorization: Bearer carol", "Authorization: Basic alice",
                         "X-USER: bob"):
                s.ask("POST", "/orders", line)
            s.ask("POST", "/orders", "X-User: alice", "X-User: dora")
            s.ask("POST", "/orders", "X-User: ", "Authorization: Bearer alice")
            s.ask("GET", "/orders", "X-User: alice")

        log = self.compare(script)
        self.assertEqual(self.statuses(log)[:24], [200, 200, 200, 429] * 6)
        self.assertIn("Retry-After: 86400", log[3][1]["fields"])
        self.assertIn(b'"reason":"limited"', log[3][1]["body"])

    def test_one_connection(self):
        def script(s):
            for number in range(40):
                s.ask("POST", "/orders", f"X-User: user-{number % 9}")
            s.note("connections", {"status": s.wire.connections, "fields": [], "body": b""})

        log = self.compare(script)
        self.assertEqual(log[-1][1]["status"], 1)

    def test_api_keys(self):
        def script(s):
            for key in ("a", "a", "a", "b", ""):
                s.ask("GET", "/keys", f"X-Api-Key: {key}")

        self.assertEqual(self.statuses(self.compare(script)), [200, 200, 429, 200, 200])

    def test_costs(self):
        def script(s):
            s.ask("GET", "/reports", "X-User: a")
            for cost in (1, 20, 19, 31, 2**53, 2**63 - 1):
                s.ask("GET", "/reports", "X-User: a", f"X-Cost: {cost}")
            s.ask("GET", "/reports", "X-User: a")
            s.ask("GET", "/reports", "X-User: b", "X-Cost: 1", "X-Cost: 2")

        log = self.compare(script)
        self.assertEqual(self.statuses(log)[:7], [200, 200, 429, 200, 429, 429, 429])
        self.assertIn(b'"reason":"never_fits"', log[4][1]["body"])

    def test_costs_that_are_none(self):
        def script(s):
            for cost in ("0", "-1", "1.5", "ten", "1 2", "+1", "0x1", "1e1", "1,2", str(2**63), "9" * 20, "\xb2", ""):
                s.ask("GET", "/reports", "X-User: a", f"X-Cost: {cost}")

        self.assertEqual(self.statuses(self.compare(script)), [400] * 12 + [200])

    def test_blocked_unlimited_and_two_limits(self):
        def script(s):
            s.ask("GET", "/internal")
            s.ask("POST", "/internal/deeper?x=1")
            s.ask("GET", "/health")
            for user in "aaabb":
                s.ask("GET", "/search", f"X-User: {user}")
            for _ in range(3):
                s.ask("GET", "/odd", "X-User: a")

        log = self.compare(script)
        self.assertEqual(self.statuses(log), [403, 403, 200, 200, 200, 429, 200, 429, 200, 200, 429])
        self.assertIn(b'"reason":"blocked"', log[0][1]["body"])

    def test_more_rules_than_a_request_can_have(self):
        def script(s):
            for path in ("/", "/health"):
                answer = s.wire.ask("GET", path)
                s.note(path, {"status": answer.status, "fields": [], "body": answer.body})

        rules = ", ".join(f"{{name: r{i}, path: /, scope: ip, limit: 9, window: 9d}}" for i in range(33))
        log = self.compare(script, f"{{version: 1, match: all, rules: [{rules}]}}", timeless=True)
        self.assertEqual(self.statuses(log), [503, 503])

    def test_no_rule(self):
        def script(s):
            for path in ("/orders", "/elsewhere"):
                s.ask("GET", path)

        rule = "{name: o, path: /orders, scope: ip, algorithm: token_bucket, limit: 1, window: 1d}"
        log = self.compare(script, f"{{version: 1, headers: {{reset: delta}}, rules: [{rule}]}}")
        self.assertEqual(log[1][1]["fields"], ["content-type: text/plain"])

    def test_held_back(self):
        def script(s):
            for _ in range(2):
                s.ask("POST", "/mail", "X-User: m", masked=True)

        self.assertEqual(self.statuses(self.compare(script, timeless=True)), [200, 200])

    def test_head(self):
        def script(s):
            for method, path in (("HEAD", "/reports"), ("GET", "/reports"), ("HEAD", "/reports"), ("HEAD", "/reports"),
                                 ("HEAD", "/internal"), ("HEAD", "/health")):
                s.ask(method, path, "X-User: h")
            s.ask("HEAD", "/reports", "X-User: h", "X-Cost: none")

        log = self.compare(script)
        self.assertEqual(self.statuses(log), [200, 200, 200, 429, 403, 200, 400])
        self.assertTrue(all(seen["body"] == b"" for what, seen in log if what.startswith("HEAD")))

    def test_bodies(self):
        def script(s):
            for method in ("POST", "PUT", "PATCH", "DELETE"):
                s.ask(method, "/health", body=b"x" * 70000)
                s.ask(method, "/health", body=b"")
            for method in ("POST", "PUT", "PATCH"):
                s.ask(method, "/health", chunks=[b"x" * 70000, b"y"])

        log = self.compare(script, timeless=True)
        self.assertEqual(log[0][1]["body"], b"served POST, 70000 bytes of body\n")

    def test_paths(self):
        def script(s):
            for path in ("/orders", "/orders/", "//orders", "/./orders", "/x/../orders", "/%6Frders", "/orders;p=1",
                         "/orders?a=1", "http://shop.example/orders", "/ORDERS", "/orders%00", "/orders%2F",
                         "/orders/%FF", "/orders?%"):
                s.ask("POST", path, f"X-User: user {len(s.log)}")
                s.ask("POST", path, "X-User: all")
            s.ask("GET", "/" + "a" * 2049)
            s.ask("GET", "/health?" + "a" * 2100)
            s.ask("GET", "/" + "a" * 2000)

        self.compare(script)

    def test_methods(self):
        def script(s):
            for method in ("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"):
                s.ask(method, "/health")
            for method in ("BREW", "get"):
                s.note(method, {"status": s.wire.ask(method, "/health").status})

        self.assertEqual(self.statuses(self.compare(script, timeless=True)), [200] * 6 + [400] * 2)


class Clients(Parity):
    def test_x_forwarded_for(self):
        lines = [[], ["198.51.100.1"], ["198.51.100.1, 10.0.0.1"], ["1.1.1.1", "198.51.100.1, 10.0.0.2", "10.0.0.3"],
                 ["2001:DB8::1"], ["2001:db8:0:0::2"], ["[2001:db8::3]:443"], ["unknown"], [""], ["", "198.51.100.2"],
                 [",,,"], ["203.0.113.9.9"], ["\xff\xfe"], ["x" * 3000], ["198.51.100.3, evil"],
                 ["::ffff:198.51.100.4"], ["198.51.100.4:80"], ["198.51.100.5"] * 40]

        def script(s):
            for one in lines:
                for _ in range(2):
                    s.ask("GET", "/x", *[f"X-Forwarded-For: {line}" for line in one])

        self.assertIn(429, self.statuses(self.compare(script)))

    def test_forwarded(self):
        lines = [["for=198.51.100.1"], ["for=1.1.1.1;proto=https, FOR=198.51.100.1"],
                 ["for=1.1.1.1", "for=198.51.100.1"], ['for="[2001:db8::1]:80"'], ['for="[2001:db8::2]"'],
                 ["for=_hidden"], ["for=unknown, for=10.0.0.1"], ['for="198.51.100.2:80"'], ["nonsense"], [""]]

        def script(s):
            for one in lines:
                for _ in range(2):
                    s.ask("GET", "/x", *[f"Forwarded: {line}" for line in one])
            s.ask("GET", "/x", "x-forwarded-for: 198.51.100.6")

        self.assertIn(429, self.statuses(self.compare(script)))

    def test_both(self):
        def script(s):
            for _ in range(3):
                s.ask("GET", "/x", "X-Forwarded-For: 198.51.100.1", "Forwarded: for=198.51.100.2")
            s.ask("GET", "/x", "X-Forwarded-For: 198.51.100.1")
            s.ask("GET", "/x", "Forwarded: for=198.51.100.2")

        self.assertEqual(self.statuses(self.compare(script))[:3], [200, 200, 429])

    def test_nobody_is_trusted(self):
        def script(s):
            for number in range(3):
                s.ask("GET", "/x", f"X-Forwarded-For: 198.51.100.{number}", f"Forwarded: for=198.51.100.{number}")

        rules = RULES.replace("trusted_proxies: [127.0.0.0/8, 10.0.0.0/8]\n", "")
        self.assertEqual(self.statuses(self.compare(script, rules)), [200, 200, 429])


class Fields(Parity):
    def orders(self, s):
        for cost in (1, 2, 1, 9):
            s.ask("POST", "/orders", "X-User: a", f"X-Cost: {cost}")
        for path in ("/search", "/odd", "/internal"):
            s.ask("GET", path, "X-User: a")

    def test_every_form(self):
        for form in ("ietf: draft-11", "ietf: draft-8", "ietf: draft-7", "ietf: draft-6", "retry_after: false",
                     "x_ratelimit: false", "x_ratelimit: false, retry_after: false, ietf: draft-11"):
            log = self.compare(self.orders, RULES.replace(HEADERS, f"headers: {{reset: delta, {form}}}"))
            self.assertTrue([field for field in log[2][1]["fields"] if OURS.match(field.split(":")[0])], form)

    def test_none(self):
        log = self.compare(self.orders, RULES.replace(HEADERS, "headers: off"))
        self.assertEqual(log[2][1]["fields"], ["content-type: application/problem+json"])

    def test_epoch_seconds(self):
        def script(s):
            for _ in range(2):
                s.ask("GET", "/x")

        rules = """
version: 1
headers: {x_ratelimit: true, reset: epoch}
rules: [{name: all, scope: ip, algorithm: fixed_window, limit: 2, window: 3650d}]
"""
        log = self.compare(script, rules, timeless=True)
        self.assertRegex("\n".join(log[0][1]["fields"]), EPOCH)


class Reloads(Parity):
    def test_rules_that_change(self):
        def script(s):
            ask = lambda: [s.ask("POST", "/orders", "X-User: a") for _ in range(4)]
            ask()
            s.gateway.reload(RULES.replace("limit: 3, window: 3d}", "limit: 4, window: 4d}", 1))
            ask()
            s.gateway.reload(RULES.replace("name: orders", "name: sales"))
            ask()
            s.gateway.write_rules("{version: 1, rules: [{name: all, scope: ip, limit: many, window: 1s}]}")
            s.gateway.wait_for_metric("ratel_reload_failures_total", 1)
            ask()

        self.assertIn(429, self.statuses(self.compare(script)))

    def test_metrics(self):
        def script(s):
            for path in ("/orders", "/internal", "/x", "/health"):
                s.ask("POST", path, "X-User: a")
            s.ask("POST", "/orders", "X-User: a", "X-Cost: 9")
            s.ask("GET", "/metrics")
            s.ask("HEAD", "/metrics")

        self.assertIn(b"ratel_requests_total 5\n", self.compare(script)[5][1]["body"])


class Proxies(Parity):
    """With a server behind: what reaches it is compared as well."""

    RULES = RULES.replace("default: {name: others, scope: ip, algorithm: token_bucket, limit: 2, window: 2d}",
                          "default: {name: others, scope: ip, algorithm: token_bucket, limit: 100, window: 100d}")

    def proxied(self, script):
        servers = []

        def arguments():
            servers.append(proxy_test.Server())
            self.addCleanup(servers[-1].server_close)
            self.addCleanup(servers[-1].shutdown)
            return "--upstream", servers[-1].url()

        def with_server(s):
            script(s, servers[-1])
            for method, path, fields, body in servers[-1].seen:
                lines = sorted(f"{name.lower()}: {value}" for name, value in fields.items())
                lines = [line for line in lines if not OF_THE_CLIENT.match(line)]
                s.note(f"behind: {method} {path}", {"host": fields["Host"], "fields": lines, "body": body})

        return self.compare(with_server, self.RULES, arguments)

    def test_answers(self):
        def script(s, _):
            for method, path in (("GET", "/x?q=%20a&b"), ("GET", "/missing"), ("HEAD", "/missing"), ("GET", "/empty"),
                                 ("GET", "/range"), ("GET", "/packed"), ("GET", "/large"), ("OPTIONS", "/x")):
                s.ask(method, path, "X-User: p")
            s.note("two lengths", {"status": s.wire.ask("GET", "/two_lengths").status})

        self.assertIn("X-RateLimit-Limit: 100", self.proxied(script)[0][1]["fields"])

    def test_requests(self):
        def script(s, _):
            s.ask("GET", "/x", "X-Custom: 1", "X-Custom: 2", "Accept-Encoding: br", "Range: bytes=1-2", "Accept: a/b",
                  "User-Agent: parity", "X-Forwarded-For: 203.0.113.1", "X-Forwarded-Proto: https", "Cookie: a=1; b=2",
                  "Forwarded: for=1.1.1.1", "Connection: X-Drop", "X-Drop: 1", "TE: trailers")
            s.ask("GET", "/x")
            s.ask("POST", "/x", "Content-Type: text/plain", "X-Forwarded-For: 203.0.113.1",
                  "X-Forwarded-For: 203.0.113.2", body=b"b" * 100000)
            s.ask("PUT", "/x", "Content-Type: multipart/form-data; boundary=b",
                  chunks=[b"--b\r\n\r\n\x00\xff\r\n--b--\r\n", b"c" * 70000])
            s.ask("POST", "/x")

        self.proxied(script)

    def test_what_is_denied_stays_out_and_our_fields_win(self):
        def script(s, _):
            for _ in range(4):
                s.ask("POST", "/orders", "X-User: a")
            s.ask("POST", "/internal")
            s.ask("GET", "/health", "X-Cost: none")

        log = self.proxied(script)
        self.assertEqual(self.statuses(log[:6]), [201, 201, 201, 429, 403, 400])
        self.assertEqual(len([what for what, _ in log if what.startswith("behind")]), 3)
        self.assertIn("X-RateLimit-Limit: 3", log[0][1]["fields"])

    def test_stream(self):
        def script(s, server):
            release = threading.Timer(0.05, server.released.set)
            release.start()
            s.ask("GET", "/stream")
            release.join()

        self.assertEqual(self.proxied(script)[0][1]["body"], b"first\nsecond\n")

    def test_no_server(self):
        def script(s):
            s.ask("GET", "/health")
            s.ask("POST", "/orders", "X-User: a")

        log = self.compare(script, arguments=("--upstream", "http://127.0.0.1:1"))
        self.assertEqual(self.statuses(log), [502, 502])


def main():
    for argument in sys.argv[1:]:
        name, _, command = argument.partition("=")
        GATEWAYS[name] = shlex.split(command)
    if len(GATEWAYS) < 2 or not all(GATEWAYS.values()):
        sys.exit("usage: parity_test.py NAME=COMMAND NAME=COMMAND...   (the others are compared with the first)")
    outcome = unittest.main(argv=sys.argv[:1], verbosity=2, exit=False).result
    print("\nof the HTTP libraries, not compared:")
    for name, fields in LEFT_OUT.items():
        print(f"  {name}: {', '.join(sorted(fields))}")
    sys.exit(not outcome.wasSuccessful())


if __name__ == "__main__":
    main()
