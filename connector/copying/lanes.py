"""Streams and events of a torch device, as the little that the copies need of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import torch


class Event(Protocol):
    """A point in a lane."""

    def query(self) -> bool:
        """Whether all work before it is over."""

    def synchronize(self) -> None:
        """Wait, on the host, until all work before it is over."""


class Lane(Protocol):
    """Work that runs in the order in which it was given, beside that of other lanes."""

    def do(self, work: Callable[[], None]) -> None:
        """Give it work; may return before it is done."""

    def record(self) -> Event:
        """Return the point after all work given so far."""

    def wait(self, event: Event) -> None:
        """Let all later work of this lane wait for a point of another; the host does not wait."""


class Lanes(Protocol):
    """The lanes of one device."""

    def current(self) -> Lane:
        """Return the lane that the model computes in."""

    def side(self) -> Lane:
        """Return a new lane."""


class TorchLane:
    """A stream. Not run on a device so far."""

    def __init__(self, api: Any, stream: Any) -> None:
        self._api = api
        self._stream = stream

    def do(self, work: Callable[[], None]) -> None:
        """Issue work on the stream."""
        with self._api.stream(self._stream):
            work()

    def record(self) -> Event:
        """Record an event on the stream."""
        event: Event = self._api.Event()
        self._stream.record_event(event)
        return event

    def wait(self, event: Event) -> None:
        """Let the stream wait for an event."""
        self._stream.wait_event(event)


class TorchLanes:
    """Streams of a CUDA device, or of an NPU: torch_npu's interface is the same. Not run on a device so far."""

    def __init__(self, device: torch.device) -> None:
        self._api: Any = getattr(torch, device.type)
        self._device = device

    def current(self) -> Lane:
        """Return the current stream."""
        return TorchLane(self._api, self._api.current_stream(self._device))

    def side(self) -> Lane:
        """Return a new stream."""
        return TorchLane(self._api, self._api.Stream(self._device))


class Point:
    """A ticket (see :mod:`backend`) for a point in a lane."""

    def __init__(self, event: Event) -> None:
        self._event = event

    def done(self) -> bool:
        """Whether the point is reached."""
        return self._event.query()
