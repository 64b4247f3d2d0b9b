"""A reverse proxy that misbehaves as it is told, in front of a plain registry, and keeps what it was asked.

A test gives a function `misbehave(request)`; what that answers is done with the request: one of the behaviours below,
or None for good behaviour. Answers are small here, so each is fetched whole before anything is done with it.
"""

import contextlib
import http.client
import http.server
import threading
import time

OWN_HEADERS = ("content-length", "connection", "transfer-encoding", "date", "server")


class Request:
    """One that arrived. `number` counts those before it for the same path, from 0."""

    def __init__(self, path, headers, number):
        self.path, self.headers, self.number = path, headers, number
        self.is_blob, self.is_manifest = "/blobs/" in path, "/manifests/" in path

    @property
    def range(self):
        """First and last byte, or None."""
        text = self.headers.get("Range")
        if text is None:
            return None
        first, last = text.removeprefix("bytes=").split("-")
        return int(first), int(last)

    def is_for(self, digest):
        return self.path.split("?")[0].endswith(digest)


class Answer:
    """What the registry behind answered, or what a behaviour makes up."""

    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, dict(headers), body


class Exchange:
    """A request with its answer on the way; a behaviour gets one, and sends."""

    def __init__(self, handler, request):
        self._handler, self.request = handler, request

    def fetch(self, with_range=True):
        """Asks the registry behind."""
        names = ("Accept", "Range") if with_range else ("Accept",)
        kept = {name: self.request.headers[name] for name in names if self.request.headers.get(name)}
        upstream = http.client.HTTPConnection("127.0.0.1", self._handler.upstream_port, timeout=60)
        try:
            upstream.request("GET", self.request.path.split("?")[0], headers=kept)
            answer = upstream.getresponse()
            headers = {name: value for name, value in answer.getheaders() if name.lower() not in OWN_HEADERS}
            return Answer(answer.status, headers, answer.read())
        finally:
            upstream.close()

    def head(self, answer, length=None):
        self._handler.send_response(answer.status)
        for name, value in answer.headers.items():
            self._handler.send_header(name, value)
        self._handler.send_header("Content-Length", str(len(answer.body) if length is None else length))
        self._handler.end_headers()

    def body(self, data):
        self._handler.wfile.write(data)
        self._handler.wfile.flush()

    def send(self, answer):
        self.head(answer)
        self.body(answer.body)

    def close(self):
        self._handler.close_connection = True


def well(exchange):
    exchange.send(exchange.fetch())


def cut(at):
    """Announces everything, and closes the connection after `at` bytes of the answer."""

    def behave(exchange):
        answer = exchange.fetch()
        exchange.head(answer)
        exchange.body(answer.body[:at])
        exchange.close()

    return behave


def flip(at):
    """One byte of the answer is another."""

    def behave(exchange):
        answer = exchange.fetch()
        place = at % len(answer.body)
        answer.body = answer.body[:place] + bytes([answer.body[place] ^ 0x10]) + answer.body[place + 1:]
        exchange.send(answer)

    return behave


def announce(more):
    """A Content-Length that is wrong by so much."""

    def behave(exchange):
        answer = exchange.fetch()
        exchange.head(answer, length=len(answer.body) + more)
        exchange.body(answer.body[: len(answer.body) + min(more, 0)])
        exchange.close()

    return behave


def refuse(status, body=b"", **headers):
    """A status of its own; names of headers with _ for -."""

    def behave(exchange):
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        exchange.send(Answer(status, named, body))

    return behave


def redirect(location):
    return refuse(307, Location=location)


def slow(pieces, pause):
    """The answer in so many pieces, with a pause in seconds before each."""

    def behave(exchange):
        answer = exchange.fetch()
        exchange.head(answer)
        size = -(-len(answer.body) // pieces)
        for start in range(0, len(answer.body), size):
            time.sleep(pause)
            exchange.body(answer.body[start:start + size])

    return behave


def stall(at, seconds):
    """Nothing more after `at` bytes for some seconds; then the connection is closed."""

    def behave(exchange):
        answer = exchange.fetch()
        exchange.head(answer)
        exchange.body(answer.body[:at])
        time.sleep(seconds)
        exchange.close()

    return behave


def ignore_range(exchange):
    exchange.send(exchange.fetch(with_range=False))


def claim_range(first=0, last=0, total=0):
    """The right bytes under a Content-Range that is off by so much."""

    def behave(exchange):
        answer = exchange.fetch()
        if answer.status == 206:
            span, size = answer.headers["Content-Range"].removeprefix("bytes ").split("/")
            begin, end = span.split("-")
            answer.headers["Content-Range"] = f"bytes {int(begin) + first}-{int(end) + last}/{int(size) + total}"
        exchange.send(answer)

    return behave


class Proxy:
    def __init__(self):
        self.host = None
        self.port = None
        self.requests = []  # as they came
        self.misbehave = lambda request: None
        self._lock = threading.Lock()

    def take(self, path, headers):
        with self._lock:
            request = Request(path, headers, sum(1 for before in self.requests if before.path == path))
            self.requests.append(request)
            return request

    def asked(self, digest):
        return [request for request in self.requests if request.is_for(digest)]


@contextlib.contextmanager
def proxy(upstream_port, misbehave=None):
    """Runs one; gives the Proxy. `misbehave` may be set later, too."""
    state = Proxy()
    if misbehave:
        state.misbehave = misbehave

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_):
            pass

        def do_GET(self):
            request = state.take(self.path, self.headers)
            behave = state.misbehave(request) or well
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # the client had enough
                behave(Exchange(self, request))
                return
            self.close_connection = True

    Handler.upstream_port = upstream_port
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.block_on_close = False
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    state.port = server.server_address[1]
    state.host = f"localhost:{state.port}"
    try:
        yield state
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
