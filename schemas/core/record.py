"""Dataclasses that cost a quarter of the time to define: what a class does not need at once is shared, not compiled.

The standard decorator compiles up to six functions for every class, and ``check`` defines more than a hundred classes
before it reads a line: that was a quarter of its processor time. Here each class compiles its ``__init__`` alone.
Everything else is as in the standard library, and type checkers see the standard decorator.

An attribute of a frozen one takes twice as long to set. The few classes of which a large file makes tens of thousands
(Text, Origin, Site, Layer) use the standard decorator.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(cls: type | None = None, /, *, frozen: bool = False, kw_only: bool = False) -> Any:
        """Make a class a dataclass, as ``dataclasses.dataclass`` does.

        An attribute of a frozen one is set once, by ``__init__``; from then on setting it raises FrozenInstanceError.
        """
        if cls is None:
            return lambda given: dataclass(given, frozen=frozen, kw_only=kw_only)
        written = set(vars(cls))
        hashed = vars(cls).get("__hash__") is not None
        made = dataclasses.dataclass(eq=False, repr=False, kw_only=kw_only)(cls)
        for name, method in _SHARED.items():
            if name not in written:
                setattr(made, name, method)
        if not hashed:
            made.__hash__ = _hash if frozen else None
        if frozen:
            made.__setattr__, made.__delattr__ = _set_once, _refuse
        return made


_compared: dict[type, Callable[[Any], tuple[Any, ...]]] = {}


def _values(record: Any) -> tuple[Any, ...]:
    """Return what a record is compared and hashed by."""
    kind = type(record)
    get = _compared.get(kind)
    if get is None:
        names = [field.name for field in dataclasses.fields(kind) if field.compare]
        get = _compared[kind] = attrgetter(*names) if len(names) > 1 else _few(names)
    return get(record)


def _few(names: list[str]) -> Callable[[Any], tuple[Any, ...]]:
    return lambda record: tuple(getattr(record, name) for name in names)


def _equal(self: Any, other: Any) -> Any:
    return _values(self) == _values(other) if other.__class__ is self.__class__ else NotImplemented


def _hash(self: Any) -> int:
    return hash(_values(self))


@recursive_repr()
def _repr(self: Any) -> str:
    shown = (f"{field.name}={getattr(self, field.name)!r}" for field in dataclasses.fields(self) if field.repr)
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _set_once(self: Any, name: str, value: Any) -> None:
    if name in self.__dict__ or name not in self.__dataclass_fields__:
        _refuse(self, name)
    self.__dict__[name] = value


def _refuse(self: Any, name: str) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot change the field {name!r} of a {type(self).__name__}")


_SHARED: dict[str, Callable[..., Any]] = {"__eq__": _equal, "__repr__": _repr}
