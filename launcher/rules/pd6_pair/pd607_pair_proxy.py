"""PD607 pair-proxy."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pd_launch.launcher.rules.pd6_pair.proxy_protocols import bootstrap, protocol
from pd_launch.launcher.rules.registry import Hit, rule
from pd_launch.schemas.core.compare import differ
from pd_launch.schemas.core.launch import Deployment, NodeLaunch, Proxy
from pd_launch.schemas.core.lazy import lazy_pattern
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.units import counted
from pd_launch.schemas.core.words import series
from pd_launch.schemas.engine.kv_transfer import connectors
from pd_launch.schemas.engine.pairs import DECODE_FIRST, PREFILL_FIRST, PROXY_KINDS, transfer_connectors
from pd_launch.schemas.engine.ports import http_port, on_host_network
from pd_launch.schemas.engine.proxies import EncoderSide, SideList, encoder_lists, side_lists
from pd_launch.schemas.engine.sides import PairSide, is_loopback, of_side, own_address

_PORT = lazy_pattern(r":(\d{1,5})/")
TELLS_PROXY = frozenset({"MoRIIOConnector", "P2pNcclConnector"})
"""Connectors that tell a proxy their engine's HTTP port themselves."""

_SIDES: dict[PairSide | EncoderSide, Msg] = {
    "prefill": Msg("the prefill side", "预填充侧"),
    "decode": Msg("the decode side", "解码侧"),
    "encode": Msg("the encoders", "编码引擎"),
    "rest": Msg("the engines after the encoders", "编码引擎之后的引擎"),
}

ZH = """
代理的种类或主机列表与连接器、rank 不符

## 作用

检查输入里启动的代理：先访问预填充的代理（load_balance_proxy_server_example.py）
配 MooncakeConnectorV1 / MooncakeHybridConnector，先访问解码的（load_balance_proxy_layerwise_server_example.py）
配 MooncakeLayerwiseConnector；
每一侧的主机列表与端口列表一样长；每个提供 HTTP 的引擎（外部 DP 的每个 rank）都在列表里，vllm-router 的 URL 也算；
脚本里的代理向本机请求的端口，
必须有脚本里的引擎监听；在自己的容器（有自己的网络）里的代理，不能用 localhost 访问另一个容器或服务里的引擎；
脚本请求补全（`curl localhost:8001/v1/completions`，主机写成 `<node_ip>` 一类占位符的也算）的端口，
在没有别的服务可能监听时，必须是引擎或代理的端口；
编码引擎（`ec_role` 为 `ec_producer`）与其后的引擎的列表同样检查。
还检查 MoRIIOConnector 与 P2pNcclConnector 告诉代理的 `http_port` 是否就是引擎的 `--port`。
vLLM 的 MooncakeConnector、MoRIIOConnector 与 P2pNcclConnector 各有自己的代理，Mooncake 的代理还必须知道
生产者 bootstrap 服务的端口。disagg_proxy_demo.py 不适用于这些连接器，也不适用于 NixlConnector：
它不会把预填充一侧的回答里的任何内容带给解码一侧。

## 为什么重要

代理的种类不符，请求就按错误的顺序发出，取不到 KV；列表里漏掉的引擎收不到请求，数据并行的其他 rank 还要陪着它空转。

## 适用版本

所有版本。

## 来源

vllm-ascend 的 examples/disaggregated_prefill_v1，0.18.0 到 0.27.1rc1；
vLLM 的 moriio_connector.py（0.32.0）与 p2p_nccl_engine.py（0.23.0）；mooncake_connector.py 与 p2p_nccl_connector.py
（0.18.0 到 0.33.0），以及 vLLM examples/disaggregated 里的 mooncake_connector_proxy.py。
"""


@rule("PD607", "pair-proxy", "warning", zh=ZH, needs="P R")
def pair_proxy(deployment: Deployment) -> Iterator[Hit]:
    r"""The proxy or its lists do not fit the connector or the ranks.

    ## What it does

    Looks at proxies that the input starts. One that goes to prefill first (load_balance_proxy_server_example.py) fits
    MooncakeConnectorV1 and MooncakeHybridConnector, one that goes to decode first
    (load_balance_proxy_layerwise_server_example.py) fits MooncakeLayerwiseConnector. The lists of hosts and ports of a
    side must be equally long, and every engine that serves HTTP (each rank of external DP) must be listed, also by the
    URLs of vllm-router; where a script's proxy addresses this machine, the port must be that of one of its engines. A
    proxy in a container with its own network cannot reach the engine of another container or service at localhost. A
    script that asks for a completion (`curl localhost:8001/v1/completions`, also with a placeholder such as `<node_ip>`
    for the host) must use the port of an engine or of the proxy, unless something else may serve there. The lists of
    encoders (`ec_role` is `ec_producer`) and of the engines after them are checked in the same way. Also the
    `http_port` that MoRIIOConnector and P2pNcclConnector tell a proxy: it must be the engine's `--port`. vLLM's
    MooncakeConnector, MoRIIOConnector and P2pNcclConnector have their own proxies, and Mooncake's must know the port of
    the producer's bootstrap server. disagg_proxy_demo.py fits none of them, nor NixlConnector: it passes on nothing
    from the prefill side's answer.

    ## Why it matters

    With the wrong proxy, requests go out in the wrong order and find no KV; an engine that is not listed gets no
    requests, while the other ranks of its group still wait for it in every step.

    ## Example

    ```bash
    # file: decode.sh
    export HCCL_IF_IP=192.0.2.21
    vllm serve /models/m --port 9100 \
      --kv-transfer-config '{"kv_connector": "MooncakeConnectorV1", "kv_role": "kv_consumer"}'
    ```

    ```bash
    # file: proxy.sh
    python load_balance_proxy_layerwise_server_example.py --port 8000 \
      --prefiller-hosts 192.0.2.11 --prefiller-ports 9100 --decoder-hosts 192.0.2.21 --decoder-ports 9100
    ```

    ## Use instead

    ```bash
    # file: decode.sh
    export HCCL_IF_IP=192.0.2.21
    vllm serve /models/m --port 9100 \
      --kv-transfer-config '{"kv_connector": "MooncakeConnectorV1", "kv_role": "kv_consumer"}'
    ```

    ```bash
    # file: proxy.sh
    python load_balance_proxy_server_example.py --port 8000 \
      --prefiller-hosts 192.0.2.11 --prefiller-ports 9100 --decoder-hosts 192.0.2.21 --decoder-ports 9100
    ```

    ## Releases

    All.

    ## Sources

    vllm-ascend's examples/disaggregated_prefill_v1 at 0.18.0 to 0.27.1rc1; vLLM's moriio_connector.py at 0.32.0 and
    p2p_nccl_engine.py at 0.23.0; mooncake_connector.py and p2p_nccl_connector.py at 0.18.0 to 0.33.0, and
    mooncake_connector_proxy.py in vLLM's examples/disaggregated.
    """
    for proxy in deployment.proxies:
        if any(text.holds(proxy.origin) for text in deployment.guessed):  # of a text for people: the lists alone
            for side, listed in side_lists(proxy).items():
                yield from _lengths(side, listed)
            continue
        yield from _kind(proxy, deployment)
        yield from protocol(proxy, deployment)
        yield from bootstrap(proxy, deployment)
        for side, listed in side_lists(proxy).items():
            yield from _lengths(side, listed)
            unlisted = list(_unlisted(side, listed, of_side(deployment, side)))
            yield from unlisted or _nobody(side, listed, proxy, deployment)
        yield from _apart(proxy, deployment)
        for name, listed in encoder_lists(proxy).items():
            yield from _lengths(name, listed)
            yield from _unlisted(name, listed, [node for node in deployment.nodes if _encodes(node) == name])
    for node in deployment.nodes:
        yield from _announced(node, deployment)
    yield from _requests(deployment)


def _requests(deployment: Deployment) -> Iterator[Hit]:
    """Yield a request of a script at a port at which none of the engines and proxies serves.

    Silent where something else may serve there: an engine or a proxy whose port is not known, one that hands over KV
    and so has a proxy somewhere, or a port of which the input speaks in another way.
    """
    served = _serving(deployment) if deployment.requests else None
    for asked in deployment.requests if served else ():
        match = _PORT.search(str(asked.address.value))
        if match is None or served is None or int(match[1]) in served:
            continue
        other = re.compile(rf"(?<!localhost:)(?<!127\.0\.0\.1:)(?<!>:)\b{match[1]}\b")
        if any(other.search(source.text) for source in deployment.sources.values()):
            continue
        ports = series(map(str, sorted(served)[:4]))
        proxied = bool(deployment.proxies)
        yield Hit(
            asked.address.origin,
            Msg(
                f"this request goes to port {match[1]}, but the {'proxy' if proxied else 'engine'} is on {ports.en}",
                f"这里访问端口 {match[1]}，但{'代理' if proxied else '引擎'}监听的是 {ports.zh}",
            ),
            Msg("use the --port of the proxy", "访问代理的 --port")
            if proxied
            else Msg("use the --port of the engine", "访问引擎的 --port"),
        )
        return


def _serving(deployment: Deployment) -> set[int] | None:
    """Return the ports at which a completion may be asked for: the proxies', else the engines'; None: not known.

    With a proxy the engines' own ports answer as well, so they are no fault; they are left out of what is told.
    """
    engines: set[int] = set()
    for node in deployment.nodes:
        port = http_port(node)
        plain = node.form == "shell" and node.container is None and not node.partial
        if port is None or not plain or node.program not in ("serve", "api_server"):
            return None
        if node.kv_transfer is not None and not deployment.proxies:
            return None
        engines |= set(port.ports)
    proxies: set[int] = set()
    for proxy in deployment.proxies:
        port_of = _own_port(proxy)
        if port_of is None or proxy.container is not None:
            return None
        proxies.add(port_of)
    asked = {int(found[1]) for one in deployment.requests if (found := _PORT.search(str(one.address.value)))}
    return proxies | (engines & asked) if proxies else engines


def _own_port(proxy: Proxy) -> int | None:
    """Return the port at which a proxy itself listens, where its command says that."""
    for word, behind in zip(proxy.words, [*proxy.words[1:], None], strict=True):
        name, _, value = str(word.value).partition("=")
        if name == "--port":
            text = value or (str(behind.value) if behind is not None else "")
            return int(text) if text.isdecimal() else None
    return None


def _nobody(side: PairSide, listed: SideList, proxy: Proxy, deployment: Deployment) -> Iterator[Hit]:
    """Yield a port of this machine that a script's proxy asks, and at which none of the script's engines serves.

    Silent unless every engine is in that script with a port that is known, and the proxy asks one of them.
    """
    served: set[int] = set()
    for node in deployment.nodes:
        port = http_port(node)
        if port is None or node.partial or node.origin.file != proxy.origin.file or not on_host_network(node):
            return
        served |= set(port.ports)
    everything = [port for one in side_lists(proxy).values() for _, port in one.entries() or ()]
    wrong = [port for host, port in listed.entries() or () if is_loopback(host) and port not in served]
    if wrong and served & set(everything) and len(deployment.nodes) >= len(everything):
        yield Hit(
            listed.origin,
            Msg(
                f"the proxy contacts {_SIDES[side].en} on port {wrong[0]}, but no engine in this script listens there",
                f"代理通过端口 {wrong[0]} 访问{_SIDES[side].zh}，但脚本里没有引擎监听这个端口",
            ),
            Msg("list the --port of the engine", "写引擎的 --port"),
        )


def _apart(proxy: Proxy, deployment: Deployment) -> Iterator[Hit]:
    """Yield a loopback address of which a proxy in a container of its own asks an engine that runs in another."""
    own = proxy.container
    if own is None or not deployment.nodes or any(node.container in (None, own) for node in deployment.nodes):
        return
    for side, listed in side_lists(proxy).items():
        if any(is_loopback(host) for host in listed.hosts or ()):
            yield Hit(
                listed.origin,
                Msg(
                    f"the proxy looks for {_SIDES[side].en} in its own container, where no engine runs",
                    f"代理在自己的容器里访问{_SIDES[side].zh}，但那里没有引擎",
                ),
                Msg(
                    "write the name of the engine's service, or put both on the host's network",
                    "写引擎的服务名，或者让两者都使用主机网络",
                ),
            )
            return


def _announced(node: NodeLaunch, deployment: Deployment) -> Iterator[Hit]:
    """Yield an http_port that a connector tells its proxy, and on which the engine does not serve."""
    port = http_port(node)
    for connector in connectors(node.kv_transfer):
        told = connector.option("http_port") if connector.name in TELLS_PROXY else None
        number = told.integer() if told is not None else None
        if (
            deployment.target.is_ascend
            or told is None
            or number is None
            or port is None
            or not differ(number, port.first)
        ):
            continue
        if node.partial or port.count > 1 or not on_host_network(node):
            continue  # published under another number, or one port a rank
        yield Hit(
            told.origin,
            Msg(
                f"{connector.name} announces port {number} to its proxy, but the engine listens on {port.first}",
                f"{connector.name} 告诉代理的端口是 {number}，但引擎监听的是 {port.first}",
            ),
            Msg(f"write the engine's --port, {port.first}", f"写引擎的 --port，即 {port.first}"),
            related=((port.origin if port.written else node.origin, Msg("the engine's port", "引擎的端口")),),
        )


def _kind(proxy: Proxy, deployment: Deployment) -> Iterator[Hit]:
    fits = PROXY_KINDS.get(proxy.program.rpartition("/")[2])
    if fits is None:
        return
    for node in deployment.nodes:
        for connector in transfer_connectors(node) or ():
            name = connector.name or ""
            if name not in PREFILL_FIRST | DECODE_FIRST or name in fits:
                continue
            first, first_zh = ("decode", "解码") if fits == DECODE_FIRST else ("prefill", "预填充")
            right = next(program for program, kinds in PROXY_KINDS.items() if name in kinds)
            yield Hit(
                proxy.origin,
                Msg(
                    f"this proxy contacts {first} first, which {name} does not support",
                    f"这个代理先访问{first_zh}侧，{name} 不支持这样的顺序",
                ),
                Msg(f"start {right}", f"改用 {right}"),
                related=((connector.tree.origin, Msg("the connector", "连接器")),),
            )
            return


def _encodes(node: NodeLaunch) -> EncoderSide | None:
    """Return whether an engine encodes images for others, or does all the rest with what others encoded."""
    config = node.value("ec-transfer-config")
    role = config.get("ec_role") if config is not None else None
    if role is None or node.arg("kv-transfer-config") is not None:
        return None
    return {"ec_producer": "encode", "ec_consumer": "rest"}.get(str(role.value))  # type: ignore[return-value]


def _lengths(side: PairSide | EncoderSide, listed: SideList) -> Iterator[Hit]:
    hosts, ports = listed.host_count, listed.port_count
    if hosts is None or ports is None or hosts == ports:
        return
    yield Hit(
        listed.origin,
        Msg(
            f"{counted(hosts, 'host')} but {counted(ports, 'port')} for {_SIDES[side].en}",
            f"{_SIDES[side].zh}写了 {hosts} 个主机，却有 {ports} 个端口",
        ),
        Msg(
            "write one host and one port for each engine, in the same order",
            "每个引擎写一个主机和一个端口，两个列表的顺序要一致",
        ),
    )


def _unlisted(side: PairSide | EncoderSide, listed: SideList, nodes: list[NodeLaunch]) -> Iterator[Hit]:
    entries = listed.entries()
    if entries is None:
        return
    for node in nodes:
        port = http_port(node)
        if (
            port is None
            or not on_host_network(node)
            or any(_serves(node, port.first, host, listed_port) for host, listed_port in entries)
        ):
            continue
        address = own_address(node)
        shown = f"{address}:{port.first}" if address else f"port {port.first}"
        yield Hit(
            listed.origin,
            Msg(
                f"{shown} belongs to {_SIDES[side].en}, but the proxy does not list it",
                f"{shown} 属于{_SIDES[side].zh}，但代理的列表里没有它",
            ),
            Msg(
                "list the host and port of every engine; with external DP that is one entry for each rank",
                "列出每个引擎的主机和端口；外部 DP 时每个 rank 写一项",
            ),
            related=((port.origin if port.written else node.origin, Msg("the engine", "引擎")),),
        )
        return


def _serves(node: NodeLaunch, port: int, host: str, listed: int) -> bool:
    """Whether an entry of the proxy may be this engine."""
    address = own_address(node)
    if port != listed:
        return False
    numeric = host.replace(".", "").isdigit()
    return (
        address is None or not numeric or is_loopback(host) or not address.replace(".", "").isdigit() or host == address
    )
