"""What an editor sends becomes a message of the protocol; a request that is none gets an error, and not silence."""

from __future__ import annotations

from typing import Any

from pygls.exceptions import (
    JsonRpcException,
    JsonRpcInvalidParams,
    JsonRpcInvalidRequest,
    JsonRpcServerNotInitialized,
)
from pygls.protocol import LanguageServerProtocol

_OUTSIDE = ("initialize", "exit")
"""The only methods that count before the session has begun."""


class Protocol(LanguageServerProtocol):  # type: ignore[misc]
    """pygls' protocol. Every request is answered: an editor that waits for one would wait for ever."""

    def structure_message(self, data: Any) -> Any:
        """Leave each object as it is: pygls would take one inside ``params`` that looks like a message for one."""
        return data

    def handle_message(self, message: Any) -> None:
        """Handle what was sent, as it was read from JSON."""
        try:
            super().handle_message(self._structured(message))
        except JsonRpcException as error:
            number = message.get("id") if isinstance(message, dict) else None
            if not isinstance(message, dict) or ("method" in message and "id" in message):
                said = {"code": error.code, "message": error.message}
                reply = {"jsonrpc": self.VERSION, "id": number if _may_be_id(number) else None, "error": said}
                self._send_data(reply)  # lsprotocol would leave out an id that is null
            raise

    def _structured(self, message: Any) -> Any:
        if not isinstance(message, dict) or message.get("jsonrpc") != self.VERSION:
            raise JsonRpcInvalidRequest()
        if "method" in message:
            self._must_be_asked(message)
            if self.get_message_type(message["method"]) is None:  # there pygls wants params, whatever they are
                message = {"params": None, **message}
        try:
            return super().structure_message(message)
        except JsonRpcInvalidParams:
            raise
        except JsonRpcException as error:  # pygls' word for whatever else was wrong with it
            raise JsonRpcInvalidRequest() from error

    def _must_be_asked(self, message: dict[str, Any]) -> None:
        """Raise JsonRpcException if no such request may come, or may come now."""
        method = message["method"]
        if not isinstance(method, str) or ("id" in message and not _may_be_id(message["id"])):
            raise JsonRpcInvalidRequest()
        if self._shutdown and method != "exit":
            raise JsonRpcInvalidRequest("The server is shutting down")
        if self._workspace is None and method not in _OUTSIDE:
            raise JsonRpcServerNotInitialized()


def _may_be_id(number: Any) -> bool:
    return isinstance(number, (int, str)) and not isinstance(number, bool)
