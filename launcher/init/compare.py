"""The proof of a conversion: the profile is rendered and compared with what it was made from."""

from __future__ import annotations

from dataclasses import field
from typing import Any

from pd_launch.launcher.formats.words import LEADER
from pd_launch.launcher.init.canonical import UNKNOWN, canonical
from pd_launch.launcher.init.here import ADDRESSES, is_here
from pd_launch.launcher.init.layout import Layout
from pd_launch.launcher.init.surroundings import device_numbers
from pd_launch.launcher.secrets.masking import MASK, is_secret, is_secret_flag
from pd_launch.launcher.sources.forms.chart_words import ADDED
from pd_launch.launcher.sources.profiles.load import load_profile
from pd_launch.launcher.sources.profiles.render import render
from pd_launch.schemas.core.launch import NodeLaunch, ProfileSide
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.record import dataclass
from pd_launch.schemas.core.target import Target
from pd_launch.schemas.core.values import HOLE, Origin, SourceFile, as_integer, readable
from pd_launch.schemas.engine.port_range import first_rank

_TRANSFER = "--kv-transfer-config"
_MISSING = object()
_LONG, _BEFORE = 100, 20


@dataclass(frozen=True)
class Left:
    """Something of the input that the profile does not say, or says otherwise."""

    engine: str
    what: str
    why: Msg
    origin: Origin | None = None


@dataclass
class Outcome:
    """How many engines come out equal, and what differs of the others."""

    equal: int = 0
    left: list[Left] = field(default_factory=list)
    transfer_differs: set[str] = field(default_factory=set)


def compare(text: str, sides: dict[str, list[NodeLaunch]], layouts: dict[str, Layout], target: Target) -> Outcome:
    """Render a profile's text and compare each given engine with its own."""
    loaded = load_profile(SourceFile("profile", text))
    outcome = Outcome()
    for fault in loaded.faults:
        outcome.left.append(
            Left("profile", fault.detail.en, Msg("the profile is not valid here", "配置文件在此处无效"))
        )
    for side, engines in sides.items():
        rendered = render(loaded, _side(side), target, single=True)
        for fault in rendered.faults:
            outcome.left.append(Left(side, fault.detail.en, Msg("the profile cannot say this", "配置文件无法表达")))
        taken: set[int] = set()
        for engine in engines:
            label = f"{engine.label}:{engine.origin.line}"
            made = _counterpart(engine, rendered.launches, taken)
            if made is None:
                why = Msg("the profile has no launch for this engine", "配置文件没有与该引擎对应的启动")
                outcome.left.append(Left(label, "engine", why, engine.origin))
                continue
            differences = list(_differences(engine, made, label, by_name=not target.is_ascend))
            outcome.left += differences
            outcome.equal += not differences
            if any(d.what == _TRANSFER for d in differences):
                outcome.transfer_differs.add(side)
    return outcome


def _side(side: str) -> ProfileSide:
    return "prefill" if side == "prefill" else "decode"


def _counterpart(engine: NodeLaunch, made: list[NodeLaunch], taken: set[int]) -> NodeLaunch | None:
    """Return the rendered launch of the same first rank; each counts once."""
    for index, launch in enumerate(made):
        same = engine.number("node-rank", 0) in (None, launch.number("node-rank", 0))
        if index not in taken and same and first_rank(launch) == (first_rank(engine) or 0):
            taken.add(index)
            return launch
    return None


def _differences(engine: NodeLaunch, made: NodeLaunch, label: str, by_name: bool) -> list[Left]:
    want, have = canonical(engine, by_name).flat(), canonical(made, by_name).flat()
    variable = made.hardware.device_variable if made.hardware is not None else None
    if variable is not None and (devices := device_numbers(engine, variable)) is not None:
        whole = as_integer(devices)
        want[variable] = devices if whole is None else whole
    places = _places(engine)
    found = []
    for key in [*want, *(k for k in have if k not in want)]:
        wanted, rendered = want.get(key, _MISSING), have.get(key, _MISSING)
        if wanted != rendered and not _of_the_form(engine, key):
            why = _why(key, wanted, rendered)
            found.append(Left(label, readable(key), why, places.get(key, engine.origin)))
    return found


def _of_the_form(engine: NodeLaunch, key: str) -> bool:
    """Whether a form writes a variable by itself: the machine's own address, and what holds its script together."""
    if ADDED in engine.env and key in (ADDED, "--port"):
        return True  # KServe's controller gives the ports
    return key == LEADER or (key in ADDRESSES and is_here(engine.env.get(key)))


def _why(key: str, wanted: Any, rendered: Any) -> Msg:
    if is_secret(key) or is_secret_flag(key):
        return Msg("a secret is not written to a file: pass it when you launch", "机密不写入文件：请在启动时传入")
    if HOLE in key:
        return Msg(
            "its name is not known before the launch: write it into the profile", "启动前其名称未知：请写入配置文件"
        )
    if _has_unknown(wanted):
        return Msg(
            "its value is not known before the launch: write it into the profile", "启动前其值未知：请写入配置文件"
        )
    if rendered is _MISSING:
        return Msg(f"not carried over: {_shown(wanted)}", f"未能转换：{_shown(wanted)}")
    if wanted is _MISSING:
        return Msg(f"added by the profile: {_shown(rendered)}", f"由配置文件添加：{_shown(rendered)}")
    where, before, after = _apart(wanted, rendered)
    return Msg(f"{where}{_shown(before)} becomes {_shown(after)}", f"{where}{_shown(before)} 变为 {_shown(after)}")


def _apart(wanted: Any, rendered: Any, where: str = "") -> tuple[str, Any, Any]:
    """Return where two values begin to differ, inside mappings and lists, and what is there."""
    if isinstance(wanted, dict) and isinstance(rendered, dict):
        keys = [key for key in {**wanted, **rendered} if wanted.get(key, _MISSING) != rendered.get(key, _MISSING)]
        if len(keys) == 1 and not is_secret(str(keys[0])):
            key = keys[0]
            path = f"{where.removesuffix(': ')}.{key}: " if where else f"{key}: "
            return _apart(wanted.get(key, "nothing"), rendered.get(key, "nothing"), path)
        differ = [{key: value[key] for key in keys if key in value} for value in (wanted, rendered)]
        return where, differ[0], differ[1]
    if isinstance(wanted, str) and isinstance(rendered, str) and len(max(wanted, rendered, key=len)) > _LONG:
        pairs = zip(f"{wanted}\0", f"{rendered}\0\0", strict=False)
        start = max(0, next(index for index, (one, other) in enumerate(pairs) if one != other) - _BEFORE)
        head = "…" if start else ""
        return where, f"{head}{wanted[start:]}", f"{head}{rendered[start:]}"
    return where, wanted, rendered


def _has_unknown(value: Any) -> bool:
    if isinstance(value, dict):
        return any(HOLE in str(k) or _has_unknown(v) for k, v in value.items())
    if isinstance(value, list):
        return any(_has_unknown(v) for v in value)
    return isinstance(value, str) and value == UNKNOWN


def _shown(value: Any) -> str:
    text = str(_masked(value))
    return text if len(text) <= 120 else f"{text[:117]}…"


def _masked(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: MASK if is_secret(str(k)) else _masked(v) for k, v in value.items()}
    return [_masked(v) for v in value] if isinstance(value, list) else value


def _places(engine: NodeLaunch) -> dict[str, Origin]:
    places = {f"--{arg.name.removeprefix('no-') if arg.value is None else arg.name}": arg.origin for arg in engine.args}
    places |= {name: variable.value.origin for name, variable in engine.env.items()}
    return places
