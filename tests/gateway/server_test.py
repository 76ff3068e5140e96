"""The gateway by itself: decisions, fields, reloads, metrics, hostile input, the end."""
import json
import os
import re
import signal
import socket
import struct
import subprocess
import tempfile
import threading
import time

import harness

# Units come back one in many hours, so that no test depends on how fast it runs.
ORDERS = """
version: 1
headers: {x_ratelimit: true, retry_after: true, reset: delta, ietf: draft-11}
rules:
  - {name: orders, method: POST, path: /orders, scope: user, algorithm: token_bucket, limit: 5, window: 5d}
  - {name: keys, path: /keys, scope: api_key, algorithm: token_bucket, limit: 2, window: 2d}
  - {name: reports, path: /reports, cost: 10, scope: user, algorithm: token_bucket, limit: 30, window: 30d}
  - {name: slow, path: /slow, scope: user, algorithm: leaky_bucket, limit: 1, window: 1s, burst: 2}
  - {name: internal, path: /internal, action: block}
  - {name: health, path: /health, action: unlimited}
default: {name: others, scope: ip, algorithm: token_bucket, limit: 1000, window: 1000d}
"""

DAY = 86400


def fields_of(response):
    """The head of a raw answer without what HTTP itself puts there, and its body."""
    head, body = response.split(b"\r\n\r\n", 1)
    lines = head.split(b"\r\n")
    kept = [line for line in lines if not re.match(rb"(Keep-Alive|Connection|Date|Server|Content-Length):", line, re.I)]
    return kept, body


class Limits(harness.Case):
    RULES = ORDERS

    def order(self, user="alice", **fields):
        headers = {"X-User": user} if user else {}
        return self.gateway.ask("POST", "/orders", {**headers, **fields})

    def test_five_of_seven_pass(self):
        self.assertEqual([self.order()[0] for _ in range(7)], [200] * 5 + [429] * 2)

    def test_budgets_are_apart(self):
        for _ in range(5):
            self.order()
        self.assertEqual(self.order()[0], 429)
        self.assertEqual(self.order("bob")[0], 200)
        self.assertEqual(self.order(None)[0], 200, "somebody anonymous")
        self.assertEqual(self.gateway.status("GET", "/reports", {"X-User": "alice"}), 200)
        self.assertEqual(self.gateway.status("GET", "/orders", {"X-User": "alice"}), 200, "another method")

    def test_anonymous_callers_share_their_address(self):
        self.assertEqual([self.order(None)[0] for _ in range(6)], [200] * 5 + [429])

    def test_user_named_like_an_address_is_somebody_else(self):
        for _ in range(5):
            self.order(None)
        self.assertEqual(self.order("127.0.0.1")[0], 200)

    def test_authorization_names_the_user(self):
        for _ in range(5):
            self.order(None, Authorization="Bearer carol")
        self.assertEqual(self.order("carol")[0], 429)

    def test_api_key(self):
        asked = [self.gateway.status(path="/keys", headers={"X-Api-Key": key}) for key in "aaabbb"]
        self.assertEqual(asked, [200, 200, 429] * 2)

    def test_cost_of_the_rule_and_of_the_request(self):
        self.assertEqual(self.gateway.ask(path="/reports", headers={"X-User": "u"})[1]["X-RateLimit-Remaining"], "20")
        self.assertEqual(self.gateway.status(path="/reports", headers={"X-User": "u", "X-Cost": "21"}), 429)
        self.assertEqual(self.gateway.status(path="/reports", headers={"X-User": "u", "X-Cost": "20"}), 200)

    def test_cost_that_is_no_number_is_refused(self):
        for cost in ("0", "-1", "1.5", "ten", "1 2", "99999999999999999999"):
            self.assertEqual(self.gateway.status(path="/reports", headers={"X-User": "v", "X-Cost": cost}), 400, cost)
        remaining = self.gateway.ask(path="/reports", headers={"X-User": "v"})[1]["X-RateLimit-Remaining"]
        self.assertEqual(remaining, "20", "nothing of it was charged")

    def test_spellings_of_a_path_share_a_budget(self):
        spellings = ["/orders", "/orders/", "//orders", "/./orders", "/x/../orders", "/%6Frders", "/orders;p=1", "/orders?a=1"]
        asked = [self.gateway.status("POST", path, {"X-User": "dan"}) for path in spellings]
        self.assertEqual(asked, [200] * 5 + [429] * 3)

    def test_shaped_request_is_held_back(self):
        begin = time.monotonic()
        asked = [self.gateway.status(path="/slow", headers={"X-User": "s"}) for _ in range(2)]
        self.assertEqual(asked, [200, 200])
        self.assertGreaterEqual(time.monotonic() - begin, 0.9)

    def test_parallel_requests_get_exactly_the_limit(self):
        allowed = []

        def many():
            connection = self.gateway.connect()
            for _ in range(200):
                allowed.append(harness.ask_on(connection, path="/others")[0])
            connection.close()

        threads = [threading.Thread(target=many) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(sorted(allowed), [200] * 1000 + [429] * 600)


class Fields(harness.Case):
    RULES = ORDERS

    def get(self, head, *fields):
        lines = "".join(f"{field}\r\n" for field in fields)
        return self.gateway.raw(f"{head} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{lines}\r\n".encode())

    def test_allowed_byte_for_byte(self):
        kept, body = fields_of(self.get("POST /orders", "X-User: alice"))
        self.assertEqual(
            sorted(kept),
            [
                b"Content-Type: text/plain",
                b"HTTP/1.1 200 OK",
                b'RateLimit-Policy: "orders";q=5;w=432000',
                b'RateLimit: "orders";r=4;t=86400',
                b"X-RateLimit-Limit: 5",
                b"X-RateLimit-Remaining: 4",
                b"X-RateLimit-Reset: 86400",
            ],
        )
        self.assertEqual(body, b"served POST, 0 bytes of body\n")

    def test_cost_that_never_fits_byte_for_byte(self):
        kept, body = fields_of(self.get("POST /orders", "X-User: alice", "X-Cost: 6"))
        self.assertEqual(
            sorted(kept),
            [
                b"Content-Type: application/problem+json",
                b"HTTP/1.1 429 Too Many Requests",
                b'RateLimit-Policy: "orders";q=5;w=432000',
                b'RateLimit: "orders";r=5;t=0',
                b"X-RateLimit-Limit: 5",
                b"X-RateLimit-Remaining: 5",
                b"X-RateLimit-Reset: 0",
            ],
        )
        self.assertEqual(json.loads(body)["reason"], "never_fits")

    def test_denied(self):
        self.get("POST /orders", "X-User: alice", "X-Cost: 5")
        status, fields, body = self.gateway.ask("POST", "/orders", {"X-User": "alice"})
        self.assertEqual((status, fields["Content-Type"]), (429, "application/problem+json"))
        wait = int(fields["Retry-After"])
        self.assertTrue(DAY - harness.PATIENCE <= wait <= DAY, wait)
        self.assertEqual(fields["X-RateLimit-Remaining"], "0")
        problem = json.loads(body)
        self.assertEqual((problem["status"], problem["rule"], problem["retry_after"]), (429, "orders", wait))

    def test_blocked_and_unlimited_have_no_limit_to_tell(self):
        for path, expected in (("/internal", 403), ("/health", 200)):
            status, fields, _ = self.gateway.ask(path=path)
            self.assertEqual(status, expected)
            self.assertFalse([name for name in fields if "ratelimit" in name.lower() or name == "Retry-After"])

    def test_head_has_the_fields_and_no_body(self):
        status, fields, body = self.gateway.ask("HEAD", "/reports", {"X-User": "h"})
        self.assertEqual((status, fields["X-RateLimit-Remaining"], body), (200, "20", b""))
        self.gateway.ask("GET", "/reports", {"X-User": "h", "X-Cost": "20"})
        status, fields, body = self.gateway.ask("HEAD", "/reports", {"X-User": "h"})
        self.assertEqual((status, fields["X-RateLimit-Remaining"], body), (429, "0", b""))

    def test_ranges_do_not_cut_a_refusal(self):
        status, _, body = self.gateway.ask(path="/internal", headers={"Range": "bytes=0-1"})
        self.assertEqual((status, json.loads(body)["status"]), (403, 403))

    def test_one_connection_for_many_requests(self):
        connection = self.gateway.connect()
        harness.ask_on(connection, "POST", "/orders", {"X-User": "k"})
        first = connection.sock
        for _ in range(20):
            harness.ask_on(connection, "POST", "/orders", {"X-User": "k"})
        self.assertIs(connection.sock, first, "the connection was not kept")
        self.assertEqual(harness.ask_on(connection, "POST", "/orders", {"X-User": "k"})[0], 429)
        connection.close()

    def test_body_that_is_not_read_ends_the_connection(self):
        for method, path in (("GET", "/health"), ("POST", "/internal")):
            _, fields, _ = self.gateway.ask(method, path, body=b"x" * 1000)
            self.assertEqual(fields["Connection"], "close", method)

    def test_body_is_read(self):
        connection = self.gateway.connect()
        for chunked in (False, True):
            body = iter([b"x" * 100000]) if chunked else b"x" * 100000
            connection.request("POST", "/health", body=body, encode_chunked=chunked,
                               headers={"Transfer-Encoding": "chunked"} if chunked else {})
            self.assertEqual(connection.getresponse().read(), b"served POST, 100000 bytes of body\n")
        connection.close()


class Proxies(harness.Case):
    RULES = """
version: 1
trusted_proxies: [127.0.0.0/8, 10.0.0.0/8]
rules: [{name: all, scope: ip, algorithm: token_bucket, limit: 2, window: 2d}]
"""

    def from_chain(self, *lines, name="X-Forwarded-For"):
        connection = self.gateway.connect()
        connection.putrequest("GET", "/")
        for line in lines:
            connection.putheader(name, line)
        connection.endheaders()
        status = connection.getresponse().status
        connection.close()
        return status

    def test_the_first_untrusted_from_the_right_is_the_client(self):
        asked = [self.from_chain(f"198.51.100.{i}, 203.0.113.1, 10.0.0.{i}") for i in range(4)]
        self.assertEqual(asked, [200, 200, 429, 429])
        self.assertEqual(self.from_chain("203.0.113.2"), 200)

    def test_all_lines_count_in_their_order(self):
        asked = [self.from_chain(f"198.51.100.{i}", "203.0.113.3", "10.0.0.1") for i in range(3)]
        self.assertEqual(asked, [200, 200, 429])

    def test_forwarded(self):
        asked = [self.from_chain(f"for=198.51.100.{i};proto=http, for=\"[2001:db8::{i + 1}]:80\"", name="Forwarded")
                 for i in range(3)]
        self.assertEqual(asked, [200, 200, 429], "one /64")

    def test_one_address_in_many_spellings(self):
        asked = [self.from_chain(address) for address in ("2001:DB8::1", "2001:db8:0:0::2", "[2001:db8::3]:443")]
        self.assertEqual(asked, [200, 200, 429])

    def test_nonsense_is_no_identity(self):
        nonsense = ["23189987", "unknown", "", ",,,", "203.0.113.9.9", "\xff\xfe", "x" * 3000, "203.0.113.4, evil"]
        asked = [self.from_chain(value) for value in nonsense]
        self.assertEqual(asked.count(200), 2, asked)


class Spoofing(harness.Case):
    RULES = "{version: 1, rules: [{name: all, scope: ip, algorithm: token_bucket, limit: 5, window: 5d}]}"

    def test_b141_nobody_is_trusted_unless_stated(self):
        asked = [self.gateway.status(headers={"X-Forwarded-For": f"203.0.113.{i}"}) for i in range(12)]
        self.assertEqual(asked, [200] * 5 + [429] * 7)


class Reloads(harness.Case):
    RULES = "{version: 1, rules: [{name: all, scope: ip, algorithm: fixed_window, limit: 2, window: 3650d}]}"

    def test_changed_rules_are_put_in_force_and_counts_stay(self):
        self.assertEqual([self.gateway.status() for _ in range(3)], [200, 200, 429])
        self.gateway.reload(self.RULES.replace("limit: 2", "limit: 3"))
        self.assertEqual([self.gateway.status() for _ in range(2)], [200, 429])

    def test_bad_rules_change_nothing_and_are_said(self):
        generation = self.gateway.metrics()["ratel_generation"]
        self.gateway.write_rules("{version: 1, rules: [{name: all, scope: ip, limit: many, window: 1s}]}")
        self.gateway.wait_for_metric("ratel_reload_failures_total", 1)
        self.assertEqual([self.gateway.status() for _ in range(3)], [200, 200, 429])
        self.assertRegex(self.gateway.errors(), r"rules\.yaml:1:\d+")
        self.assertEqual(self.gateway.metrics()["ratel_generation"], generation)
        self.gateway.reload(self.RULES.replace("limit: 2", "limit: 3"))
        self.assertEqual(self.gateway.status(), 200)

    def test_rules_that_vanish_for_a_while_change_nothing(self):
        os.remove(self.gateway.rules_path)
        self.assertEqual(self.gateway.status(), 200)
        self.gateway.reload(self.RULES.replace("limit: 2", "limit: 9"))
        self.assertEqual(self.gateway.ask()[1]["X-RateLimit-Remaining"], "7")


class Metrics(harness.Case):
    RULES = ORDERS

    def test_every_request_is_counted_once(self):
        for _ in range(7):
            self.gateway.ask("POST", "/orders", {"X-User": "m"})
        self.gateway.ask("POST", "/orders", {"X-User": "m", "X-Cost": "6"})
        self.gateway.ask(path="/internal")
        self.gateway.ask(path="/elsewhere")
        metrics = self.gateway.metrics()
        expected = {
            "ratel_requests_total": "10",
            "ratel_allowed_total": "6",
            "ratel_denied_total": "4",
            "ratel_never_fits_total": "1",
            "ratel_blocked_total": "1",
            "ratel_keys": "2",
            'ratel_rule_allowed_total{rule="orders"}': "5",
            'ratel_rule_denied_total{rule="orders"}': "3",
            'ratel_rule_allowed_total{rule="others"}': "1",
        }
        self.assertEqual({name: metrics.get(name) for name in expected}, expected)

    def test_asking_for_metrics_costs_nothing(self):
        before = self.gateway.metrics()
        self.assertEqual(self.gateway.metrics(), before)
        self.assertEqual(self.gateway.ask(path="/metrics")[1]["Content-Type"], "text/plain; version=0.0.4")


class Hostile(harness.Case):
    RULES = ORDERS

    def status_of(self, data):
        match = re.match(rb"HTTP/1\.1 (\d{3}) ", self.gateway.raw(data))
        return int(match[1]) if match else None

    def tearDown(self):
        self.assertEqual(self.gateway.status(path="/health"), 200, "it does not serve any more")

    def test_long_paths(self):
        for size in (2049, 8000, 20000, 1000000):
            self.assertEqual(self.status_of(b"GET /" + b"a" * size + b" HTTP/1.1\r\nHost: x\r\n\r\n"), 414, size)
        self.assertEqual(self.gateway.status(path="/" + "a" * 2000), 200)

    def test_methods(self):
        for method in ("PUT", "PATCH", "DELETE", "OPTIONS"):
            self.assertEqual(self.gateway.status(method, "/health"), 200, method)
        for method in (b"BREW", b"get", b"GE T", b"", b"\xff"):
            self.assertEqual(self.status_of(method + b" / HTTP/1.1\r\nHost: x\r\n\r\n"), 400, method)

    def test_lines_that_are_no_requests(self):
        for data in (b"GET /\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"GET / HTTP/1.1 x\r\n\r\n", b"\0\0\0\0\r\n\r\n", b"\r\n\r\n"):
            self.assertIn(self.status_of(data), (400, 505, None), data)

    def test_fields_that_are_too_long(self):
        self.assertEqual(self.status_of(b"GET /health HTTP/1.1\r\nX-User: " + b"u" * 100000 + b"\r\n\r\n"), 400)

    def test_any_bytes_in_a_name(self):
        for user in (b"\xff\xfe", b"a\tb", b"u" * 5000, "Ünïcode".encode()):
            request = b"POST /orders HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX-User: " + user + b"\r\n\r\n"
            self.assertEqual([self.status_of(request) for _ in range(6)], [200] * 5 + [429], user)

    def test_bytes_in_a_path_do_not_leave_the_rules(self):
        for path in (b"/orders%0A", b"/orders%00", b"/orders/%FF", b"/orders/%2F"):
            request = b"POST " + path + b" HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX-User: p" + path[-2:] + b"\r\n\r\n"
            self.assertEqual(self.status_of(request), 200, path)

    def test_path_with_half_an_escape(self):
        request = b"POST /orders/% HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX-User: half\r\n\r\n"
        self.assertIn([self.status_of(request) for _ in range(6)], ([200] * 5 + [429], [400] * 6), "limited, or refused by the server")

    def test_absolute_form(self):
        request = b"POST http://x/orders HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX-User: abs\r\n\r\n"
        self.assertEqual([self.status_of(request) for _ in range(6)], [200] * 5 + [429])

    def test_client_that_resets_at_once_is_nobody(self):
        request = b"GET /others HTTP/1.1\r\nHost: x\r\n\r\n"
        for _ in range(100):
            connection = socket.create_connection(("127.0.0.1", self.gateway.port))
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            connection.sendall(request)
            connection.close()
        self.assertEqual(self.gateway.status(path="/others"), 200)
        self.assertEqual(self.gateway.metrics()["ratel_keys"], "1", "a key for unknown clients")

    def test_connection_that_says_nothing(self):
        silent = [socket.create_connection(("127.0.0.1", self.gateway.port)) for _ in range(20)]
        self.assertEqual(self.gateway.status(path="/health"), 200)
        for connection in silent:
            connection.close()

    def test_names_of_the_gateway_s_own(self):
        status, _, body = self.gateway.ask(path="/health", headers={"Gateway-Aside-Range": "bytes=0-1", "REMOTE_ADDR": "1.2.3.4"})
        self.assertEqual((status, body), (200, b"served GET, 0 bytes of body\n"))


class TheEnd(harness.Case):
    RULES = ORDERS

    def test_request_under_way_is_answered(self):
        self.gateway.ask(path="/slow", headers={"X-User": "e"})
        answers = []
        held = threading.Thread(target=lambda: answers.append(self.gateway.status(path="/slow", headers={"X-User": "e"})))
        held.start()
        self.gateway.wait_for_metric('ratel_rule_allowed_total{rule="slow"}', 2)
        self.assertEqual(self.gateway.stop(), 0)
        held.join()
        self.assertEqual(answers, [200])

    def test_port_is_free_afterwards(self):
        port = self.gateway.port
        self.assertEqual(self.gateway.stop(signal.SIGINT), 0)
        with self.assertRaises(OSError):
            socket.create_connection(("127.0.0.1", port), timeout=5)


class Starting(harness.unittest.TestCase):
    def run_with(self, *arguments):
        done = subprocess.run([*harness.COMMAND, *arguments], capture_output=True, text=True, timeout=harness.PATIENCE)
        return done.returncode, done.stderr

    def test_wrong_use(self):
        for arguments in ((), ("--rules",), ("--nonsense",), ("--rules", "x", "y"), ("--rules", "x", "--listen", "here"),
                          ("--rules", "x", "--listen", "127.0.0.1:99999")):
            status, text = self.run_with(*arguments)
            self.assertEqual(status, 2, arguments)
            self.assertIn("gateway", text)

    def test_rules_that_are_not_there(self):
        status, text = self.run_with("--rules", "/nowhere/rules.yaml")
        self.assertEqual(status, 2)
        self.assertIn("/nowhere/rules.yaml", text)

    def test_errors_say_no_more_than_there_is(self):
        self.assertNotRegex(self.run_with("--rules", "/nowhere/rules.yaml")[1], r":0:0|: :")
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as rules:
            rules.write("version: 1\nrules: []\n")
            rules.flush()
            status, text = self.run_with("--rules", rules.name, "--watch-ms", "3")
            self.assertEqual(status, 2)
            self.assertRegex(text, r"^gateway: [^:]")
            self.assertNotRegex(text, r":0:0|: :")
            rules.write("more: 1\n")
            rules.flush()
            self.assertRegex(self.run_with("--rules", rules.name)[1], r"\.yaml:3:\d+: more: \S")

    def test_port_that_is_taken(self):
        gateway = harness.Gateway(ORDERS)
        self.addCleanup(lambda: self.assertEqual(gateway.stop(), 0))
        status, text = self.run_with("--rules", gateway.rules_path, "--listen", f"127.0.0.1:{gateway.port}")
        self.assertEqual((status, "cannot listen" in text), (2, True))


if __name__ == "__main__":
    harness.main()
