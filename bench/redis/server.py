"""A redis-server of the benchmark's own: a free port of the loopback, a temporary folder, no files, stopped by its process id."""

import os
import pathlib
import re
import shutil
import socket
import subprocess
import tempfile
import time


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Server:
    def __init__(self, wrapper=(), cpus=None):
        self.folder = tempfile.mkdtemp(prefix="ratel-bench-redis-")
        self.port = free_port()
        program = os.environ.get("RATEL_REDIS_SERVER", "redis-server")
        line = [*wrapper, program, "--port", str(self.port), "--bind", "127.0.0.1", "--dir", self.folder, "--save", "", "--appendonly", "no",
                "--maxclients", "2000"]
        self.log = open(pathlib.Path(self.folder) / "log", "w+")
        self.process = subprocess.Popen([part.replace("FOLDER", self.folder) for part in line], stdout=self.log, stderr=self.log)
        if cpus:
            os.sched_setaffinity(self.process.pid, cpus)
        self.connection = None
        for _ in range(600):
            try:
                self.connection = socket.create_connection(("127.0.0.1", self.port), timeout=600)
                break
            except OSError:
                if self.process.poll() is not None:
                    break
                time.sleep(0.05)
        if self.connection is None:
            self.close()
            raise SystemExit("error: redis-server did not start (install redis-server, or name one in RATEL_REDIS_SERVER)")
        self.stream = self.connection.makefile("rb")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        if self.connection:
            self.connection.close()
        if self.process.poll() is None:
            self.process.terminate()
            self.process.wait(timeout=60)
        self.log.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def ask(self, *arguments):
        """One command; its reply as bytes, a number or a list."""
        parts = [str(one).encode() if not isinstance(one, bytes) else one for one in arguments]
        self.connection.sendall(b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%s\r\n" % (len(one), one) for one in parts))
        return self._reply()

    def _reply(self):
        line = self.stream.readline().rstrip(b"\r\n")
        kind, rest = line[:1], line[1:]
        if kind == b"-":
            raise RuntimeError(rest.decode())
        if kind == b":":
            return int(rest)
        if kind == b"$":
            return None if rest == b"-1" else self.stream.read(int(rest) + 2)[:-2]
        if kind == b"*":
            return [self._reply() for _ in range(int(rest))]
        return rest

    def info(self, *names):
        """The fields of INFO, as numbers where they are."""
        text = self.ask("INFO", "everything").decode()
        fields = dict(re.findall(r"^(\w+):(.*?)\r?$", text, flags=re.M))
        return [float(fields[name]) if re.fullmatch(r"[\d.]+", fields[name]) else fields[name] for name in names]

    def cpu_seconds(self):
        return sum(self.info("used_cpu_user", "used_cpu_sys"))

    def scripts(self):
        """How many script calls it has had."""
        text = self.ask("INFO", "commandstats").decode()
        return sum(int(calls) for calls in re.findall(r"^cmdstat_(?:evalsha|eval|fcall|incr):calls=(\d+)", text, flags=re.M))
