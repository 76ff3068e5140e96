"""HTTP/1.1 as it goes over the wire: requests written byte by byte, answers kept as they came."""
import socket

import harness


class Answer:
    """`lines` are the header fields as (name, value), letter by letter and in order; `body` is without its framing."""

    def __init__(self, status, lines, body):
        self.status, self.lines, self.body = status, lines, body

    def field(self, name):
        return next((value for own, value in self.lines if own.lower() == name), None)


NO_ANSWER = Answer(None, [], b"")


class Wire:
    """A client that keeps its connection as long as the gateway does. `connections` says how many it took."""

    def __init__(self, port):
        self.port, self.socket, self.connections = port, None, 0

    def close(self):
        if self.socket:
            self.reader.close()
            self.socket.close()
            self.socket = None

    def send(self, data):
        if self.socket is None:
            self.socket = socket.create_connection(("127.0.0.1", self.port), timeout=harness.PATIENCE)
            self.reader = self.socket.makefile("rb")
            self.connections += 1
        self.socket.sendall(data)

    def ask(self, method, target, *fields, body=None, chunks=None):
        """One request; `fields` are lines without their end. A body goes as a whole, or in chunks."""
        head = [f"{method} {target} HTTP/1.1", "Host: shop.example", *fields]
        data = body or b""
        if chunks is not None:
            head.append("Transfer-Encoding: chunked")
            data = b"".join(b"%x\r\n%s\r\n" % (len(chunk), chunk) for chunk in [*chunks, b""])
        elif body is not None:
            head.append(f"Content-Length: {len(body)}")
        self.send("".join(line + "\r\n" for line in [*head, ""]).encode("latin-1") + data)
        return self.answer(method)

    def answer(self, method):
        try:
            answer, closes = self.read(method)
        except (ConnectionResetError, EOFError):
            answer, closes = NO_ANSWER, True
        if closes or (answer.field("connection") or "").lower() == "close":
            self.close()
        return answer

    def read(self, method):
        """An answer to its end, and whether that was the end of the connection."""
        status = 100
        while status < 200:
            status, lines = self.head()
        answer = Answer(status, lines, b"")
        if method == "HEAD" or status in (204, 304):
            return answer, False
        if answer.field("transfer-encoding") == "chunked":
            answer.body = b"".join(self.chunks())
        elif answer.field("content-length") is not None:
            answer.body = self.exactly(int(answer.field("content-length")))
        else:
            answer.body = self.reader.read()
            return answer, True
        return answer, False

    def head(self):
        status = int(self.line().split(" ")[1])
        lines = []
        while line := self.line():
            name, _, value = line.partition(":")
            lines.append((name, value.strip(" \t")))
        return status, lines

    def line(self):
        line = self.reader.readline()
        if not line.endswith(b"\r\n"):
            raise EOFError("the connection ended within a line")
        return line[:-2].decode("latin-1")

    def exactly(self, size):
        data = self.reader.read(size)
        if len(data) != size:
            raise EOFError("the connection ended within a body")
        return data

    def chunks(self):
        while size := int(self.line().split(";")[0], 16):
            yield self.exactly(size)
            self.line()
        while self.line():
            pass
