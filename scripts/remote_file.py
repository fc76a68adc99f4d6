"""A file behind an address of which only parts are fetched, by HTTP ranges."""

from __future__ import annotations

import bisect
import io
import os
import shutil
import ssl
import tempfile
import urllib.request
from typing import IO, Any

_MOST = 2 * 1024**3
_GAP = 128 * 1024
"""Bytes between two parts that are fetched with them: one more request would cost more."""

_TAIL = 512 * 1024
"""Bytes at the end that are fetched first: a wheel's list of members."""


class FetchError(Exception):
    """A server that does not send what was asked for."""


def whole(link: str, file: IO[bytes]) -> None:
    """Write all of a remote file to ``file``."""
    with _open(link, None) as answer:
        shutil.copyfileobj(answer, file)


class RemoteFile(io.RawIOBase):
    """A remote file to read from; :meth:`prefetch` names parts that will be wanted, so that few requests do.

    Raises:
        FetchError: the server sends something else than it was asked for.
        OSError: there is no such server or file.
    """

    def __init__(self, link: str) -> None:
        super().__init__()
        self._link = link
        self._position = 0
        self._parts: list[tuple[int, bytes]] = []
        self._whole: IO[bytes] | None = None
        with _open(link, f"bytes=-{_TAIL}") as answer:
            given = answer.headers.get("Content-Range", "")
            if answer.status == 206 and given.startswith("bytes ") and given.rpartition("/")[2].isdigit():
                self.size = int(given.rpartition("/")[2])
                self._parts.append((max(0, self.size - _TAIL), answer.read()))
            else:
                self._whole = tempfile.TemporaryFile()  # noqa: SIM115 - closed with this file
                shutil.copyfileobj(answer, self._whole)
                self.size = self._whole.tell()

    def close(self) -> None:
        """Forget what was fetched."""
        if self._whole is not None:
            self._whole.close()
        super().close()

    def readable(self) -> bool:
        """It is."""
        return True

    def seekable(self) -> bool:
        """It is."""
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Move to a byte; return its position."""
        start = {os.SEEK_SET: 0, os.SEEK_CUR: self._position, os.SEEK_END: self.size}[whence]
        self._position = max(0, start + offset)
        return self._position

    def readinto(self, buffer: Any) -> int:
        """Read into a buffer; return the number of bytes, 0 at the end."""
        end = min(self.size, self._position + len(buffer))
        if end <= self._position:
            return 0
        if self._whole is not None:
            self._whole.seek(self._position)
            data = self._whole.read(end - self._position)
        else:
            data = self._read(self._position, end)
        buffer[: len(data)] = data
        self._position += len(data)
        return len(data)

    def prefetch(self, spans: list[tuple[int, int]]) -> None:
        """Fetch parts, each from its first byte up to its end; those close to each other in one request."""
        if self._whole is not None:
            return
        joined: list[tuple[int, int]] = []
        for start, end in sorted(spans):
            if joined and start - joined[-1][1] <= _GAP:
                joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
            else:
                joined.append((start, end))
        for start, end in joined:
            self._fetch(start, end)

    def _read(self, start: int, end: int) -> bytes:
        """Return what is there of a part from its start on, one byte at least."""
        index = bisect.bisect_right(self._parts, start, key=lambda part: part[0]) - 1
        if index >= 0:
            first, data = self._parts[index]
            if start < first + len(data):
                return data[start - first : end - first]
        self._fetch(start, end)
        return self._read(start, end)

    def _fetch(self, start: int, end: int) -> None:
        with _open(self._link, f"bytes={start}-{end - 1}") as answer:
            data = answer.read(end - start + 1)
            if answer.status != 206 or len(data) != end - start:
                raise FetchError(f"{self._link}: the server sent other bytes than asked for")
        bisect.insort(self._parts, (start, data))


def _open(link: str, part: str | None) -> Any:
    request = urllib.request.Request(link, headers={"User-Agent": "pd-launch", **({"Range": part} if part else {})})
    bundle = os.environ.get("PIP_CERT") or os.environ.get("REQUESTS_CA_BUNDLE")
    context = ssl.create_default_context(cafile=bundle) if bundle else None
    answer = urllib.request.urlopen(request, timeout=180, context=context)
    if int(answer.headers.get("Content-Length") or 0) > _MOST:
        answer.close()
        raise FetchError(f"{link} is larger than {_MOST >> 30} GiB")
    return answer
