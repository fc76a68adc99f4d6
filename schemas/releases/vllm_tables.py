"""The tables of what each release of vLLM and vllm-ascend knows, and of a build whose own files were read.

scripts/read_release.py writes the former. ``data/*.json`` hold every entry once, with the ranges of releases that have
it. A file is read when it is first asked for, and an entry is looked up by name, so nothing else of the other releases
is touched.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache, cached_property, lru_cache
from pathlib import Path
from typing import Any, cast

from packaging.version import Version

from pd_launch.schemas.core.build import BuiltPart, ReadBuild, UnreadError
from pd_launch.schemas.core.record import dataclass
from pd_launch.schemas.core.target import Target

Ranges = list[tuple[str, "str | None", Any]]
"""First release, last release (None: up to the newest), and what these releases say."""


@dataclass(frozen=True)
class Spec:
    """How a flag, or a field of a config class, is read.

    ``kind`` of a flag: ``int``, ``float``, ``str``, ``size`` (32k, 1G), ``length`` (``size``, ``auto`` or -1),
    ``json``, ``json-or-text``, ``config`` (a JSON object that is read into the class ``config``), ``word`` (case and
    dashes do not matter), ``bool`` (``--x`` and ``--no-x``), ``switch`` (``--x`` alone) or ``any``. Of a field: the
    members of its type, joined by ``|``. ``values`` is None for one value (none for switches), else a number, ``+`` or
    ``?``.
    """

    kind: str
    values: str | int | None = None
    choices: tuple[Any, ...] = ()
    optional: bool = False
    config: str = ""
    bounds: tuple[tuple[str, float], ...] = ()
    default: Any = None
    also: tuple[str, ...] = ()

    @property
    def takes_value(self) -> bool:
        """Whether a value may follow the flag."""
        return self.kind not in ("bool", "switch")


class Table:
    """One release's entries."""

    def __init__(self, data: Mapping[str, Any], release: str) -> None:
        self._data = data
        self.release = release
        self._order = {name: index for index, name in enumerate(data["releases"])}
        self._index = self._order[release]

    @property
    def file(self) -> str:
        """The wheel or source package that was read."""
        return cast("str", self._data["releases"][self.release]["file"])

    @property
    def shown(self) -> str:
        """What the release is called in messages."""
        return self.release

    @property
    def exact(self) -> bool:
        """Whether a build's own files were read, and not those of the release that it belongs to."""
        return False

    def names(self, section: str) -> list[str]:
        """Return the names that the release has in a section.

        Raises:
            UnreadError: it is a build's, and could not be read.
        """
        return [name for name in self._data[section] if self.entry(section, name) is not None]

    def entry(self, section: str, name: str) -> Any:
        """Return what the release says of a name; None where it does not have it.

        Raises:
            UnreadError: it is a build's, and could not be read.
        """
        index, order = self._index, self._order
        for first, last, value in cast("Ranges", self._data[section].get(name, ())):
            if order[first] <= index and (last is None or index <= order[last]):
                return value
        return None

    def releases_with(self, section: str, name: str) -> list[str]:
        """Return all releases that have a name, oldest first."""
        known, order = list(self._order), self._order
        ranges = cast("Ranges", self._data[section].get(name, ()))
        return [
            release
            for first, last, _ in ranges
            for release in known[order[first] : None if last is None else order[last] + 1]
        ]

    @cached_property
    def flags(self) -> dict[str, Spec]:
        """Every flag by its long names, without dashes."""
        return dict(self._flags())

    def _flags(self) -> Iterator[tuple[str, Spec]]:
        for name in self.names("flags"):
            spec = _spec(self.entry("flags", name), "kind")
            yield name, spec
            yield from ((other, spec) for other in spec.also if not other.startswith("-"))

    @cached_property
    def pairs_switches(self) -> bool:
        """Whether each switch ``--enable-x`` also has the opposite ``--disable-x``, and the reverse."""
        return self.entry("facts", "paired_switches") is True

    @cached_property
    def shorts(self) -> frozenset[str]:
        """Every short name, with its dash."""
        return frozenset(name for spec in self.flags.values() for name in spec.also if name.startswith("-"))

    def fields(self, config: str) -> dict[str, Spec]:
        """Return the fields of a config class by name; none where the table does not have it."""
        prefix = f"{config}."
        return {
            name[len(prefix) :]: _spec(self.entry("fields", name), "types")
            for name in self.names("fields")
            if name.startswith(prefix) and self.entry("fields", name) is not None
        }


class BuildTable(Table):
    """The entries of a build whose own files were read.

    ``release`` is the row that it belongs to, and which releases have a name is what the tables say.
    """

    def __init__(self, build: ReadBuild, part: BuiltPart, project: str) -> None:
        super().__init__(_data(project), part.row)
        self._build = build
        self._part = part
        self._ascend = project == "vllm-ascend"

    @property
    def file(self) -> str:
        """The place that was read."""
        return self._build.place

    @property
    def shown(self) -> str:
        """What the build is called in messages."""
        return self._build.shown(self._ascend)

    @property
    def exact(self) -> bool:
        """Whether a build's own files were read: yes."""
        return True

    def names(self, section: str) -> list[str]:
        """Return the names that the build has in a section; see :class:`Table`."""
        return list(self._section(section))

    def entry(self, section: str, name: str) -> Any:
        """Return what the build says of a name; see :class:`Table`."""
        return self._section(section).get(name)

    def _section(self, section: str) -> Mapping[str, Any]:
        if section in self._part.unread:
            raise UnreadError(f"{self._build.place}: {section}")
        return self._part.sections.get(section, {})


def _spec(entry: Any, kind: str) -> Spec:
    if isinstance(entry, str):
        return Spec(entry)
    return Spec(
        entry[kind],
        entry.get("values"),
        tuple(entry.get("choices", ())),
        entry.get("optional", False),
        entry.get("config", ""),
        tuple(entry.get("bounds", {}).items()),
        entry.get("default"),
        tuple(entry.get("also", ())),
    )


@cache
def _data(project: str) -> dict[str, Any]:
    file = Path(__file__).parent / "data" / f"{project}.json"
    return cast("dict[str, Any]", json.loads(file.read_text(encoding="utf-8")))


@cache
def _table(project: str, release: str) -> Table:
    return Table(_data(project), release)


def vllm_table(target: Target) -> Table:
    """Return the table of the vLLM that ``target`` names or brings; of the next older one where it was not read."""
    if target.build is not None and target.build.vllm is not None:
        return _of_build(target.build, "vllm")
    return _table("vllm", _row("vllm", target.vllm))


def ascend_table(target: Target) -> Table | None:
    """Return the table of vllm-ascend, or of the next older release that was read; None for a vLLM target."""
    if target.vllm_ascend is None:
        return None
    if target.build is not None and target.build.ascend is not None:
        return _of_build(target.build, "vllm-ascend")
    return _table("vllm-ascend", _row("vllm-ascend", target.vllm_ascend))


@lru_cache(maxsize=16)
def _of_build(build: ReadBuild, project: str) -> Table:
    part = build.vllm if project == "vllm" else build.ascend
    assert part is not None
    return BuildTable(build, part, project)


def names_of_any(project: str, section: str) -> list[str]:
    """Return the names in a section that some release of a project has, as each of them has one at least."""
    return list(_data(project)[section])


@cache
def _row(project: str, release: str) -> str:
    known: list[str] = list(_data(project)["releases"])
    wanted = Version(release)
    older = [name for name in known if Version(name) <= wanted]
    return older[-1] if older else known[0]
