"""One budget on one redis-server for the gateways of all languages: together they admit exactly the limit, and a request
that comes again at another of them is charged once.
"""
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import harness

GATEWAYS = {}  # name: command
LIMIT = 400
CLIENTS = 4  # of each gateway, at once
ALGORITHMS = ("token_bucket", "fixed_window", "sliding_log", "sliding_counter")
TIERS = ("none", "denials", "leases")
# Windows that nobody gets through: what is admitted is the limit.
RULES = "version: 1\ninstances: 4\nheaders: {reset: delta}\nrules:\n" + "".join(
    f"  - {{name: {tier}-{algorithm}, path: /{tier}/{algorithm}, scope: user, algorithm: {algorithm}, limit: {LIMIT}, "
    f"window: 3650d, local_tier: {tier}, on_store_error: closed}}\n"
    for algorithm in ALGORITHMS for tier in TIERS)


class RedisServer:
    """A server on a socket in a folder of its own."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory()
        socket = os.path.join(self.folder.name, "s")
        self.process = subprocess.Popen(["redis-server", "--port", "0", "--unixsocket", socket, "--save", "", "--dir", self.folder.name],
                                        stdout=subprocess.DEVNULL)
        deadline = time.monotonic() + harness.PATIENCE
        while not os.path.exists(socket):
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise AssertionError("redis-server does not start")
            time.sleep(0.01)
        self.url = f"unix://{socket}?deadline_ms=30000"

    def stop(self):
        self.process.kill()
        self.process.wait()
        self.folder.cleanup()


class Budget(unittest.TestCase):
    def setUp(self):
        server = RedisServer()
        self.addCleanup(server.stop)
        self.url = server.url
        os.environ["RATEL_SECRET"] = "a secret of the tests"
        self.running = {}
        self.addCleanup(self.stop_all)

    def start(self, name, *arguments):
        self.running[name] = harness.Gateway(RULES, "--redis", self.url, *arguments, command=GATEWAYS[name])

    def start_all(self, *arguments):
        for name in GATEWAYS:
            self.start(name, *arguments)

    def stop_all(self):
        while self.running:
            name, gateway = self.running.popitem()
            self.assertEqual(gateway.stop(), 0, name)

    def test_without_the_secret_none_starts(self):
        surroundings = {name: value for name, value in os.environ.items() if name != "RATEL_SECRET"}
        for name, command in GATEWAYS.items():
            ended = subprocess.run([*command, "--rules", "rules.yaml", "--redis", self.url], env=surroundings, capture_output=True,
                                   text=True, timeout=harness.PATIENCE)
            self.assertEqual(ended.returncode, 2, name)
            self.assertIn("--redis needs RATEL_SECRET", ended.stderr, name)

    def storm(self, path):
        """Everybody asks at once, until there is nothing left: what each gateway has admitted."""
        admitted = dict.fromkeys(self.running, 0)
        wrong, lock = [], threading.Lock()

        def client(name, gateway):
            connection, denied, mine = gateway.connect(), 0, 0
            while denied < 5:
                status, _, body = harness.ask_on(connection, path=path, headers={"X-User": "alice"})
                mine += status == 200
                denied += status == 429
                if status not in (200, 429):
                    wrong.append((name, status, body))
                    break
            connection.close()
            with lock:
                admitted[name] += mine

        # Each has its part, however fast the others are.
        for name, gateway in self.running.items():
            admitted[name] += gateway.status(path=path, headers={"X-User": "alice"}) == 200
        threads = [threading.Thread(target=client, args=one) for one in self.running.items() for _ in range(CLIENTS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])
        return admitted

    def test_together_they_admit_exactly_the_limit(self):
        self.start_all()
        for tier in ("none", "denials"):
            for algorithm in ALGORITHMS:
                with self.subTest(algorithm=algorithm, tier=tier):
                    admitted = self.storm(f"/{tier}/{algorithm}")
                    self.assertEqual(sum(admitted.values()), LIMIT, admitted)
                    self.assertTrue(all(admitted.values()), admitted)
        for name, gateway in self.running.items():
            self.assertEqual(gateway.metrics()["ratel_store_errors_total"], "0", name)

    def test_with_leases_as_well_once_all_have_given_back(self):
        self.start_all()
        admitted = self.storm("/leases/fixed_window")
        self.assertLessEqual(sum(admitted.values()), LIMIT)
        self.stop_all()  # whatever they hold goes back
        for name in GATEWAYS:
            self.start(name)
            rest = sum(self.storm("/leases/fixed_window").values())
            self.stop_all()
            admitted[name] += rest
        self.assertEqual(sum(admitted.values()), LIMIT, admitted)

    def test_a_request_that_comes_again_elsewhere_is_charged_once(self):
        self.start_all("--idempotency-header", "Idempotency-Key")

        def left(gateway, *lines, path="/leases/fixed_window"):
            connection = gateway.connect()
            connection.putrequest("GET", path)
            connection.putheader("X-User", "alice")
            for line in lines:
                connection.putheader("Idempotency-Key", line)
            connection.endheaders()
            response = connection.getresponse()
            response.read()
            connection.close()
            self.assertEqual(response.status, 200)
            return int(response.headers["X-RateLimit-Remaining"])

        longest = "i" * 255
        for spent, line in enumerate(['"8e03978e-40d5-43e8-bc93-6894a57f9324"', "a b", longest], 1):
            for name, gateway in self.running.items():
                self.assertEqual(left(gateway, line), LIMIT - spent, (name, line))
        remaining = LIMIT - 3
        for lines in ([longest + "i"], [""], ["a\tb"], ["\xe4"], ["a b", "a b"]):
            for name, gateway in self.running.items():
                remaining -= 1
                self.assertEqual(left(gateway, *lines, path="/none/fixed_window"), remaining + 3, (name, lines))


def main():
    for argument in sys.argv[1:]:
        name, _, command = argument.partition("=")
        GATEWAYS[name] = shlex.split(command)
    if len(GATEWAYS) < 2 or not all(GATEWAYS.values()):
        sys.exit("usage: budget_test.py NAME=COMMAND NAME=COMMAND...")
    if shutil.which("redis-server") is None:
        sys.exit("redis-server is not installed")
    unittest.main(argv=sys.argv[:1], verbosity=2)


if __name__ == "__main__":
    main()
