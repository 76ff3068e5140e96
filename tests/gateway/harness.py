"""Starts a gateway as its users do and talks HTTP to it. Any language's gateway that takes the same options will do."""
import http.client
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

COMMAND = sys.argv[1:]
PATIENCE = 60  # seconds after which something that has to happen is taken not to happen


class Gateway:
    """A running gateway over rules of its own."""

    def __init__(self, rules, *arguments, command=None):
        self.folder = tempfile.TemporaryDirectory()
        self.rules_path = os.path.join(self.folder.name, "rules.yaml")
        self.write_rules(rules)
        self.error_path = os.path.join(self.folder.name, "stderr")
        with open(self.error_path, "wb") as errors:
            self.process = subprocess.Popen(
                [*(command or COMMAND), "--rules", self.rules_path, "--listen", "127.0.0.1:0", "--watch-ms", "20",
                 *arguments],
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )
        line = self.process.stdout.readline()
        match = re.match(r"listening on 127\.0\.0\.1:(\d+)$", line)
        if not match:
            self.process.wait(PATIENCE)
            raise AssertionError(f"the gateway did not start: {line!r} {self.errors()}")
        self.port = int(match[1])

    def errors(self):
        with open(self.error_path, encoding="utf-8") as file:
            return file.read()

    def write_rules(self, text):
        """Moves new rules over the old ones, so that nobody reads half of them."""
        new = self.rules_path + ".new"
        with open(new, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(new, self.rules_path)

    def connect(self):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)

    def ask(self, method="GET", path="/", headers=None, body=None):
        """One request on a connection of its own; (status, fields, body)."""
        connection = self.connect()
        try:
            return ask_on(connection, method, path, headers, body)
        finally:
            connection.close()

    def status(self, *arguments, **named):
        return self.ask(*arguments, **named)[0]

    def raw(self, data):
        """Sends bytes and returns the first answer as it came; what there is of it when the connection ends before."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE) as connection:
            received = b""
            try:
                connection.sendall(data)
                while not whole(received) and (chunk := connection.recv(65536)):
                    received += chunk
            except (ConnectionResetError, BrokenPipeError):
                pass
            return received

    def metrics(self):
        text = self.ask(path="/metrics")[2].decode()
        return dict(re.findall(r"^([a-z][^ ]*) (\S+)$", text, re.M))

    def wait_for_metric(self, name, value):
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            if self.metrics().get(name) == str(value):
                return
            time.sleep(0.02)
        raise AssertionError(f"{name} did not become {value}: {self.metrics().get(name)}; {self.errors()}")

    def reload(self, rules):
        """Writes rules and waits until they are in force."""
        before = int(self.metrics()["ratel_reloads_total"])
        self.write_rules(rules)
        self.wait_for_metric("ratel_reloads_total", before + 1)

    def stop(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        try:
            status = self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        self.process.stdout.close()
        self.folder.cleanup()
        return status


def whole(answer):
    """Whether these bytes are an answer to its end."""
    head, end, body = answer.partition(b"\r\n\r\n")
    length = re.search(rb"^Content-Length: (\d+)", head, re.I | re.M)
    return bool(end) and (length is None or len(body) >= int(length[1]))


def ask_on(connection, method="GET", path="/", headers=None, body=None):
    connection.request(method, path, body=body, headers=headers or {})
    response = connection.getresponse()
    return response.status, response.headers, response.read()


class Case(unittest.TestCase):
    """A test with one gateway over RULES, which has to end well."""

    RULES = ""
    ARGUMENTS = ()

    def setUp(self):
        self.gateway = Gateway(self.RULES, *self.ARGUMENTS)
        self.addCleanup(self.end)

    def end(self):
        if self.gateway.process.poll() is None:
            self.assertEqual(self.gateway.stop(), 0)


def main():
    if not COMMAND:
        sys.exit("usage: TEST.py GATEWAY [ARGUMENT...]")
    unittest.main(argv=sys.argv[:1], verbosity=2)
