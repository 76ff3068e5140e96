"""The gateway with a server behind it: requests and answers pass as they came, and the limited ones do not pass."""
import gzip
import hashlib
import http.server
import threading

import harness

RULES = """
version: 1
rules:
  - {name: limited, path: /limited, scope: ip, algorithm: token_bucket, limit: 2, window: 2d}
"""


class Server(http.server.ThreadingHTTPServer):
    """A server that remembers what it was asked. `released` holds the second half of /stream back."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.seen = []
        self.released = threading.Event()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def url(self):
        return f"http://127.0.0.1:{self.server_port}"


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def body(self):
        if self.headers.get("Transfer-Encoding") == "chunked":
            body = b""
            while size := int(self.rfile.readline(), 16):
                body += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
            return body
        return self.rfile.read(int(self.headers.get("Content-Length", 0)))

    def answer(self):
        body = self.body()
        self.server.seen.append((self.command, self.path, self.headers, body))
        handler = getattr(self, "on_" + self.path.split("?")[0].strip("/").replace("/", "_"), self.on_other)
        handler(body)

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = answer

    def send(self, status, fields, body=b""):
        self.send_response(status)
        for name, value in fields:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def on_other(self, body):
        digest = hashlib.sha256(body).hexdigest()
        self.send(201, [("Content-Type", "text/x-digest"), ("Set-Cookie", "a=1"), ("Set-Cookie", "b=2"),
                        ("Connection", "X-Hop"), ("X-Hop", "1"), ("X-RateLimit-Limit", "99")], digest.encode())

    def on_empty(self, _):
        self.send_response(204)
        self.end_headers()

    def on_missing(self, _):
        self.send(404, [("Content-Type", "text/plain")], b"not here")

    def on_range(self, _):
        self.send(206, [("Content-Type", "text/plain"), ("Content-Range", "bytes 2-4/10")], b"cde")

    def on_packed(self, _):
        self.send(200, [("Content-Type", "text/plain"), ("Content-Encoding", "gzip")], gzip.compress(b"packed" * 100, mtime=0))

    def on_large(self, _):
        self.send(200, [("Content-Type", "application/octet-stream")], b"0123456789abcdef" * 200000)

    def on_stream(self, _):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.wfile.write(b"6\r\nfirst\n\r\n")
        self.wfile.flush()
        self.server.released.wait(harness.PATIENCE)
        self.wfile.write(b"7\r\nsecond\n\r\n0\r\n\r\n")

    def on_split(self, _):
        self.send(200, [("Content-Type", "text/plain"), ("X-Split", "a%0d%0aX-Evil: 1%0d%0a%0d%0aevil"), ("Bad Name", "1")], b"whole")

    def on_two_lengths(self, _):
        self.send(200, [("Content-Length", "3")], b"whole")

    def on_broken(self, _):
        self.send_response(200)
        self.send_header("Content-Length", "1000")
        self.end_headers()
        self.wfile.write(b"only this")
        self.close_connection = True


class Proxy(harness.Case):
    RULES = RULES

    def setUp(self):
        self.server = Server()
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)
        self.ARGUMENTS = ("--upstream", self.server.url())
        super().setUp()

    def test_answer_passes_as_it_came(self):
        status, fields, body = self.gateway.ask(path="/some/path?q=%20a&b#cut")
        self.assertEqual((status, fields["Content-Type"]), (201, "text/x-digest"))
        self.assertEqual(fields.get_all("Set-Cookie"), ["a=1", "b=2"])
        self.assertIsNone(fields["X-Hop"], "a field of the other connection")
        self.assertEqual(body.decode(), hashlib.sha256(b"").hexdigest())
        self.assertEqual(self.server.seen[0][:2], ("GET", "/some/path?q=%20a&b"))

    def test_request_s_fields(self):
        self.gateway.ask(path="/x", headers={"X-Custom": "1", "Accept-Encoding": "br", "Range": "bytes=1-2", "Host": "shop.example",
                                             "X-Forwarded-For": "203.0.113.1", "Connection": "X-Drop", "X-Drop": "1", "TE": "trailers"})
        fields = self.server.seen[0][2]
        for name, value in (("X-Custom", "1"), ("Accept-Encoding", "br"), ("Range", "bytes=1-2"), ("Host", "shop.example"),
                            ("X-Forwarded-For", "203.0.113.1, 127.0.0.1")):
            self.assertEqual(fields.get_all(name), [value])
        for name in ("X-Drop", "TE", "REMOTE_ADDR", "REMOTE_PORT", "LOCAL_ADDR"):
            self.assertIsNone(fields[name], name)

    def test_bodies_pass_byte_for_byte(self):
        multipart = b"--b\r\nContent-Disposition: form-data; name=\"f\"\r\n\r\n\x00\xff\r\n--b--\r\n"
        bodies = [
            (b"", {}),
            (b"plain", {"Content-Type": "text/plain"}),
            (bytes(range(256)) * 20000, {"Content-Type": "application/octet-stream"}),
            (multipart, {"Content-Type": "multipart/form-data; boundary=b"}),
            (gzip.compress(b"squeezed" * 100), {"Content-Encoding": "gzip"}),
        ]
        for method in ("POST", "PUT", "PATCH", "DELETE"):
            for body, headers in bodies:
                _, _, digest = self.gateway.ask(method, "/x", headers, body)
                self.assertEqual(digest.decode(), hashlib.sha256(body).hexdigest(), (method, headers))
                for name, value in headers.items():
                    self.assertEqual(self.server.seen[-1][2][name], value)

    def test_chunked_body(self):
        connection = self.gateway.connect()
        chunks = [b"a" * 70000, b"b", b"c" * 1000]
        connection.request("POST", "/x", body=iter(chunks), encode_chunked=True, headers={"Transfer-Encoding": "chunked"})
        self.assertEqual(connection.getresponse().read().decode(), hashlib.sha256(b"".join(chunks)).hexdigest())
        connection.close()

    def test_post_without_a_body(self):
        self.assertIn(b" 201 ", self.gateway.raw(b"POST /x HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").split(b"\r\n")[0])

    def test_answers_of_every_kind(self):
        self.assertEqual(self.gateway.ask(path="/empty")[::2], (204, b""))
        self.assertEqual(self.gateway.ask(path="/missing")[::2], (404, b"not here"))
        self.assertEqual(self.gateway.ask("HEAD", "/missing")[::2], (404, b""))
        status, fields, body = self.gateway.ask(path="/range", headers={"Range": "bytes=2-4"})
        self.assertEqual((status, fields["Content-Range"], body), (206, "bytes 2-4/10", b"cde"))
        _, fields, body = self.gateway.ask(path="/packed", headers={"Accept-Encoding": "gzip"})
        self.assertEqual((fields["Content-Encoding"], gzip.decompress(body)), ("gzip", b"packed" * 100))
        self.assertEqual(self.gateway.ask(path="/large")[2], b"0123456789abcdef" * 200000)

    def test_stream_passes_piece_by_piece(self):
        connection = self.gateway.connect()
        connection.request("GET", "/stream")
        response = connection.getresponse()
        self.assertEqual(response.read1(), b"first\n", "the first piece has to come before the second is made")
        self.server.released.set()
        self.assertEqual(response.read(), b"second\n")
        connection.close()

    def test_client_that_leaves_a_stream(self):
        connection = self.gateway.connect()
        connection.request("GET", "/stream")
        self.assertEqual(connection.getresponse().read1(), b"first\n")
        connection.close()
        self.server.released.set()
        self.assertEqual(self.gateway.status(path="/x"), 201)

    def test_broken_answer_does_not_pass_for_a_whole_one(self):
        with self.assertRaises((harness.http.client.IncompleteRead, ConnectionError)):
            self.gateway.ask(path="/broken")
        self.assertEqual(self.gateway.status(path="/x"), 201)

    def test_what_is_denied_does_not_reach_the_server(self):
        asked = [self.gateway.status(path="/limited") for _ in range(5)]
        self.assertEqual(asked, [201, 201, 429, 429, 429])
        self.assertEqual(len(self.server.seen), 2)

    def paths(self):
        return [path for _, path, *_ in self.server.seen]

    def test_fields_that_hide_a_second_request(self):
        for _ in range(2):
            self.gateway.ask(path="/limited")
        hidden = b"x%0d%0aHost: y%0d%0a%0d%0aGET /limited HTTP/1.1%0d%0aHost: y%0d%0aX-A: b"
        self.gateway.raw(b"GET /free HTTP/1.1\r\nHost: a\r\nA: " + hidden + b"\r\nConnection: close\r\n\r\n")
        self.gateway.raw(b"GET /free HTTP/1.1\r\nHost: a\r\nReferer: " + hidden + b"\r\nConnection: close\r\n\r\n")
        self.assertEqual(self.paths().count("/limited"), 2, "what came decoded is another request")

    def refused(self, head):
        """What is refused reaches nobody, and what follows it on the connection is no request."""
        follower = b"GET /follower HTTP/1.1\r\nHost: a\r\n\r\n"
        before = len(self.server.seen)
        with harness.socket.create_connection(("127.0.0.1", self.gateway.port), timeout=harness.PATIENCE) as connection:
            received = b""
            try:
                connection.sendall(head + b"\r\n\r\n")
                received += connection.recv(65536)  # what follows comes in a piece of its own
                connection.sendall(follower)
                while chunk := connection.recv(65536):
                    received += chunk
            except (ConnectionResetError, BrokenPipeError):
                pass
        if received:
            self.assertRegex(received, rb"^HTTP/1\.1 400 ", head)
        self.assertEqual(received.count(b"HTTP/1.1 "), bool(received), (head, received))
        self.assertEqual(len(self.server.seen), before, head)

    def test_requests_that_are_in_doubt(self):
        for field in (b"Bad Name: 1", b"Transfer-Encoding : chunked", b"B\x01: 1", b"\xc3\xa4: 1", b"B(: 1", b"A: a\x01b", b"A: a\x7fb",
                      b"A: a\x00b", b"Content-Length: 0\r\nContent-Length: 5", b"Content-Length: +5", b"Content-Length: 5, 5",
                      b"Content-Length: 99999999999999999999"):
            self.refused(b"POST /x HTTP/1.1\r\nHost: a\r\n" + field)
        self.refused(b"HEAD /x HTTP/1.1\r\nHost: a\r\nA: a\x01b")
        self.refused(b"GET /x\x01 HTTP/1.1\r\nHost: a")

    def test_body_that_nobody_reads_is_no_request(self):
        body = b"GET /follower HTTP/1.1\r\nHost: a\r\n\r\n"
        for method in (b"GET", b"HEAD", b"OPTIONS"):
            with harness.socket.create_connection(("127.0.0.1", self.gateway.port), timeout=harness.PATIENCE) as connection:
                try:
                    connection.sendall(method + b" /x HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n" % len(body))
                    self.assertTrue(connection.recv(65536).startswith(b"HTTP/1.1 "))
                    connection.sendall(body)
                    while connection.recv(65536):
                        pass
                except (ConnectionResetError, BrokenPipeError):
                    pass
        self.assertNotIn("/follower", self.paths())

    def test_two_framings_at_once(self):
        self.gateway.raw(b"POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 60\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
                         b"0\r\n\r\nGET /hidden HTTP/1.1\r\nHost: a\r\n\r\n")
        for _, path, fields, body in self.server.seen:  # refused, or passed on with one framing
            self.assertEqual((path, body), ("/x", b""))
            self.assertFalse(fields["Content-Length"] and fields["Transfer-Encoding"])

    def test_forwarded_stays_behind(self):
        self.gateway.ask(path="/x", headers={"Forwarded": "for=10.0.0.1"})
        self.assertIsNone(self.server.seen[0][2]["Forwarded"], "the gateway does not continue it, so nobody may believe it")

    def test_answers_that_would_break_up(self):
        _, fields, body = self.gateway.ask(path="/split")
        self.assertEqual((fields["Set-Cookie"], fields["X-Evil"], body), (None, None, b"whole"))
        self.assertEqual(self.gateway.status(path="/two_lengths"), 502)

    def test_our_fields_win(self):
        _, fields, _ = self.gateway.ask(path="/limited")
        self.assertEqual(fields.get_all("X-RateLimit-Limit"), ["2"])
        self.assertEqual(self.gateway.ask(path="/x")[1].get_all("X-RateLimit-Limit"), ["99"], "where there is no limit of ours")


class NoServer(harness.Case):
    RULES = RULES
    ARGUMENTS = ("--upstream", "http://127.0.0.1:1")

    def test_bad_gateway(self):
        status, fields, _ = self.gateway.ask("POST", "/limited", body=b"x" * 10)
        self.assertEqual((status, fields["X-RateLimit-Remaining"]), (502, "1"))

    def test_body_left_unread_is_no_request(self):
        body = b"GET /limited HTTP/1.1\r\nHost: a\r\n\r\n"
        with harness.socket.create_connection(("127.0.0.1", self.gateway.port), timeout=harness.PATIENCE) as connection:
            try:
                connection.sendall(b"POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n" % len(body))
                connection.recv(65536)
                connection.sendall(body)
                while connection.recv(65536):
                    pass
            except (ConnectionResetError, BrokenPipeError):
                pass
        self.assertEqual(self.gateway.ask(path="/limited")[1]["X-RateLimit-Remaining"], "1")


if __name__ == "__main__":
    harness.main()
