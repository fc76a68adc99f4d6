"""The reader of connectors' options: forms of reading, other modules, and what is converted."""

from __future__ import annotations

from pd_launch.launcher.builds.files import Held
from pd_launch.launcher.builds.options import read_options
from pd_launch.launcher.builds.source import Package

_V1 = "vllm.distributed.kv_transfer.kv_connector.v1"


def _read(**modules: str) -> dict[str, str]:
    files = {f"{_V1}.{name}".replace(".", "/") + ".py": text.encode() for name, text in modules.items()}
    return read_options(Package(Held(files)), {"A": [f"{_V1}.a", "A"], "B": [f"{_V1}.b", "B"]})


def test_forms_of_reading() -> None:
    text = """
NAME = "by_name"
extra = config.kv_connector_extra_config or {}
extra.get("plain", 1)
int(extra["whole"])
float(config.get_from_extra_config("share", 0.5))
self.on = config.kv_connector_extra_config.get("switch", False)
str(extra.get("word", "x")).lower()
extra.get(NAME)
for key in ("one", "two"):
    extra.get(key)
"inside" in extra
extra.get("outer", {}).get("inner")
extra["written"] = 1
other.get("stranger")
ec_config.ec_connector_extra_config.get("encoder")
"""
    assert _read(a=text, b="") == {
        "A.plain": "", "A.whole": "int", "A.share": "float", "A.switch": "truth", "A.word": "str", "A.by_name": "",
        "A.one": "", "A.two": "", "A.inside": "", "A.outer": "",
    }  # fmt: skip


def test_own_modules_count_and_other_connectors_do_not() -> None:
    found = _read(
        a=f"from {_V1}.helper import work\nfrom {_V1} import b\n",
        b="c.get_from_extra_config('of_b')\n",
        helper="def work(extra_config):\n    return extra_config.get('of_helper')\n",
    )
    assert found == {"A.of_helper": "", "B.of_b": ""}


def test_ways_that_differ_say_nothing() -> None:
    assert _read(a="int(extra_config['n'])\nfloat(extra_config['n'])\n", b="") == {"A.n": ""}


def test_all_keys() -> None:
    assert _read(a="for k, v in kv_connector_extra_config.items():\n    pass\n", b="") == {"A.*": ""}


def test_a_key_that_is_not_known() -> None:
    assert _read(a="extra_config.get(make())\n", b="") == {"A.*": ""}


def test_what_the_engine_reads_of_one_connector() -> None:
    text = """
def pool(config):
    if config.kv_connector == "B":
        all = config.kv_connector_extra_config.get("children", [])
    entries = [c.get("kv_connector_extra_config", {}) for c in all if c.get("kv_connector") == "A"]
    return float(entries[0].get("pool"))


class Config:
    def get_from_extra_config(self, key, default):
        return self.kv_connector_extra_config.get(key, default)

    def has(self):
        return self.kv_connector == "A" and self.kv_connector_extra_config.get("own")

    def every(self):
        return self.kv_connector_extra_config.get("every")
"""
    files = {"vllm/config/kv_transfer.py": text.encode()}
    names = {"A": [f"{_V1}.a", "A"], "B": [f"{_V1}.b", "B"]}
    assert read_options(Package(Held(files)), names) == {
        "A.pool": "float", "A.own": "", "B.children": "", "*.every": ""
    }  # fmt: skip
