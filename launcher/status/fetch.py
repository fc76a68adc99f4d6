"""Reading a page of an engine over HTTP: so many bytes, so many seconds, no redirects, whoever answers."""

from __future__ import annotations

import base64
import contextlib
import http.client
import socket
import threading
import time
from collections.abc import Iterator
from urllib.parse import SplitResult, unquote, urlsplit

from pd_launch.schemas.core.msg import NOTHING, Msg
from pd_launch.schemas.core.record import dataclass

MAX_PAGE = 8 << 20
"""Bytes of /metrics that are read. An engine's page takes about 80 KB for each data-parallel rank."""
MAX_SMALL = 64 << 10
"""Bytes of the other pages."""
_CHUNK = 64 << 10
PATHS = ("/metrics", "/version", "/health")


class BadAddress(ValueError):
    """What was given is no address of an engine; the text says what one looks like."""


@dataclass(frozen=True)
class Address:
    """Where an engine answers. ``shown`` has no name or password in it."""

    scheme: str
    host: str
    port: int
    prefix: str = ""
    login: str = ""

    @property
    def shown(self) -> str:
        """The address as it is printed."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}{self.prefix}"


@dataclass(frozen=True)
class Page:
    """What came back: a status of HTTP and a body, or why none did."""

    status: int = 0
    body: bytes = b""
    fault: Msg = NOTHING


def parse_address(text: str) -> Address:
    """Return the address that a word of the command line means; ``http://`` and the page's own path may be left out.

    Raises:
        BadAddress: it is none.
    """
    wanted = "an engine's address looks like http://127.0.0.1:8000"
    word = text if "://" in text else f"http://{text}"
    try:
        parts = urlsplit(word)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise BadAddress(f"{error}: {wanted}") from None
    if parts.scheme not in ("http", "https"):
        raise BadAddress(f"{parts.scheme} is not http or https: {wanted}")
    if not host or any(c.isspace() or not c.isprintable() for c in word):
        raise BadAddress(f"it names no host: {wanted}")
    path = parts.path.rstrip("/")
    for page in PATHS:
        path = path.removesuffix(page)
    return Address(parts.scheme, host, port or (443 if parts.scheme == "https" else 80), path, _login(parts))


def _login(parts: SplitResult) -> str:
    if parts.username is None:
        return ""
    return f"{unquote(parts.username)}:{unquote(parts.password or '')}"


def fetch(address: Address, path: str, seconds: float, most: int) -> Page:
    """Read a page: what takes more than ``seconds``, or has more than ``most`` bytes, is a fault, and costs no more."""
    try:
        with _connected(address, seconds) as (connection, cut):
            headers = {"Accept": "text/plain", "Accept-Encoding": "identity", "User-Agent": "pd-launch"}
            if address.login:
                headers["Authorization"] = f"Basic {base64.b64encode(address.login.encode()).decode()}"
            connection.request("GET", address.prefix + path, headers=headers)
            page = _read(connection.getresponse(), cut, most)
            if cut.is_set():
                raise TimeoutError  # what was cut off may look like a whole answer
            return page
    except TimeoutError:
        return Page(fault=late(seconds))
    except http.client.HTTPException:
        return Page(fault=Msg("it does not speak HTTP", "响应的不是 HTTP"))
    except (OSError, ValueError) as error:
        return Page(fault=_said(error))


def late(seconds: float) -> Msg:
    """Say that nobody answered in time."""
    return Msg(f"no answer within {seconds:g} s", f"{seconds:g} 秒内没有响应")


def _said(error: Exception) -> Msg:
    if isinstance(error, socket.gaierror):
        return Msg("there is no such host", "没有这个主机")
    if isinstance(error, ConnectionRefusedError):
        return Msg("nothing listens there", "该端口没有程序监听")
    if isinstance(error, (ConnectionResetError, BrokenPipeError)):
        return Msg("it closed the connection", "对方关闭了连接")
    told = error.strerror if isinstance(error, OSError) else None
    return (
        Msg(f"it could not be read: {told}", f"无法读取：{told}") if told else Msg("it could not be read", "无法读取")
    )


@contextlib.contextmanager
def _connected(address: Address, seconds: float) -> Iterator[tuple[http.client.HTTPConnection, threading.Event]]:
    """Connect, and cut the connection at the deadline: one who answers a byte a second would else hold us for ever.

    The event says whether it was cut.
    """
    kind = http.client.HTTPSConnection if address.scheme == "https" else http.client.HTTPConnection
    connection = kind(address.host, address.port, timeout=seconds)
    deadline = time.monotonic() + seconds
    connection.connect()
    line = connection.sock  # the connection forgets it when it hands it to an answer
    cut = threading.Event()

    def end() -> None:
        cut.set()
        with contextlib.suppress(OSError):
            line.shutdown(socket.SHUT_RDWR)

    timer = threading.Timer(max(0.0, deadline - time.monotonic()), end)
    timer.daemon = True
    timer.start()
    try:
        yield connection, cut
    except (OSError, http.client.HTTPException, ValueError):
        if cut.is_set():
            raise TimeoutError from None
        raise
    finally:
        timer.cancel()
        connection.close()


def _read(answer: http.client.HTTPResponse, cut: threading.Event, most: int) -> Page:
    if 300 <= answer.status < 400:
        told = Msg("redirects are not followed: give the engine's own address", "不跟随重定向：请给出引擎自己的地址")
        return Page(answer.status, fault=told)
    if answer.getheader("Content-Encoding", "identity") not in ("identity", ""):
        return Page(
            answer.status,
            fault=Msg("its response is compressed, which was not requested", "响应经过压缩，而请求并没有要求压缩"),
        )
    parts: list[bytes] = []
    size = 0
    while chunk := answer.read1(_CHUNK):
        parts.append(chunk)
        size += len(chunk)
        if size > most:
            en = f"its page is larger than {most >> 10} KiB, more than any engine's"
            return Page(answer.status, fault=Msg(en, f"页面超过 {most >> 10} KiB，引擎的页面不会这么大"))
        if cut.is_set():
            raise TimeoutError
    if answer.length:
        told = Msg("it closed the connection before the page was complete", "页面没有传完，对方就关闭了连接")
        return Page(fault=told)
    return Page(answer.status, b"".join(parts))
