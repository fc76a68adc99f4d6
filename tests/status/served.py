"""Engines that are played: small HTTP servers of this process that serve recorded pages, or whatever a test wants."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

PAGES = Path(__file__).with_name("pages")
Answer = Callable[[BaseHTTPRequestHandler], None]


def page(name: str) -> bytes:
    """Return a recorded page of /metrics."""
    return (PAGES / f"{name}.txt").read_bytes()


class Engine:
    """One played engine. Assign ``metrics``, ``version``, ``healthy``, or ``answer`` for something else altogether."""

    def __init__(self, metrics: bytes, version: str = "0.32.0") -> None:
        self.metrics, self.version, self.healthy = metrics, version, True
        self.answer: Answer | None = None
        self.url = ""

    def serve(self, handler: BaseHTTPRequestHandler) -> None:
        """Answer one request."""
        if self.answer is not None:
            self.answer(handler)
        elif handler.path == "/metrics":
            send(handler, self.metrics)
        elif handler.path == "/version":
            send(handler, b'{"version":"%s"}' % self.version.encode())
        elif handler.path == "/health":
            send(handler, b"", 200 if self.healthy else 503)
        else:
            send(handler, b"", 404)


def send(handler: BaseHTTPRequestHandler, body: bytes, status: int = 200, **headers: str) -> None:
    """Send a whole answer."""
    handler.send_response(status)
    for name, value in headers.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)


@contextmanager
def served(*names: str | bytes) -> Iterator[list[Engine]]:
    """Serve engines, each with a recorded page or the bytes that are given."""
    engines = [Engine(page(name) if isinstance(name, str) else name) for name in names]
    servers = []
    for engine in engines:

        class Handler(BaseHTTPRequestHandler):
            played = engine

            def do_GET(self) -> None:
                self.played.serve(self)

            def log_message(self, *_: object) -> None:
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        server.handle_error = lambda *_: None  # type: ignore[method-assign]
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        engine.url = f"http://127.0.0.1:{server.server_port}"
        servers.append(server)
    try:
        yield engines
    finally:
        for server in servers:
            server.shutdown()
            server.server_close()
