"""The requests of a record as a page of /metrics: how long prompts and answers were between its looks.

``pd-launch simulate`` takes such a page as a workload.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from pd_launch.launcher.status.change import change
from pd_launch.launcher.status.look import Seen
from pd_launch.launcher.status.page import Histogram, Reading

_KEYS = {"request_prompt": "vllm:request_prompt_tokens", "request_output": "vllm:request_generation_tokens"}


def lengths_page(looks: Iterable[tuple[float, list[Seen]]]) -> str:
    """Return a page whose histograms are of the requests that ended between the first look and the last.

    Of a single look, and of an engine that was there once, those since its start. New starts between looks are taken
    in. Engines that answer with one token each are prefill nodes, whose requests the decode nodes have too: left out.
    """
    last: dict[str, Reading] = {}
    found: dict[str, dict[str, Histogram]] = {}
    for _, seen in looks:
        for one in seen:
            if one.reading is None:
                continue
            url = one.address.shown
            if url in last:
                _add(found.setdefault(url, {}), change(last[url], one.reading).numbers.histograms)
            last[url] = one.reading
    whole: dict[str, Histogram] = {}
    for url, reading in last.items():
        histograms = found.get(url) or reading.whole.histograms
        output = histograms.get("request_output")
        if output is not None and output.count >= 1 and output.total > output.count:
            _add(whole, histograms)
    return "".join(_lines(_KEYS[key], whole[key]) for key in _KEYS if key in whole)


def _add(whole: dict[str, Histogram], more: dict[str, Histogram]) -> None:
    for key in _KEYS:
        if key in more:
            whole[key] = whole[key].add(more[key]) if key in whole else more[key]


def _lines(name: str, histogram: Histogram) -> str:
    lines = [f"# TYPE {name} histogram"]
    for bound in sorted(histogram.buckets):
        shown = "+Inf" if math.isinf(bound) else f"{bound:.12g}"
        lines.append(f'{name}_bucket{{engine="0",le="{shown}"}} {histogram.buckets[bound]:.12g}')
    lines += [f'{name}_count{{engine="0"}} {histogram.count:.12g}', f'{name}_sum{{engine="0"}} {histogram.total:.12g}']
    return "\n".join(lines) + "\n"
