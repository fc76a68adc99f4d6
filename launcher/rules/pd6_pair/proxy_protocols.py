"""What a proxy must put into requests for a connector, and where it must ask: a part of what rule PD607 looks at."""

from __future__ import annotations

from collections.abc import Iterator

from pd_launch.launcher.rules.registry import Hit
from pd_launch.schemas.core.launch import Deployment, Proxy
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.engine.connector_ports import NIXL, bootstrap_port
from pd_launch.schemas.engine.pairs import OWN_PROXIES, PLAIN_PROXIES, PROXY_KINDS, transfer_connectors
from pd_launch.schemas.engine.ports import on_host_network
from pd_launch.schemas.engine.proxies import bootstrap_asked
from pd_launch.schemas.engine.sides import of_side


def protocol(proxy: Proxy, deployment: Deployment) -> Iterator[Hit]:
    """Yield a proxy that is made for other connectors: what this one looks for in a request is not put into it."""
    program = proxy.program.rpartition("/")[2]
    if deployment.target.is_ascend or program not in {*PROXY_KINDS, *PLAIN_PROXIES, *OWN_PROXIES.values()}:
        return
    made_for = next((name for name, own in OWN_PROXIES.items() if own == program), None)
    for node in deployment.nodes:
        for connector in transfer_connectors(node) or ():
            name = connector.name or ""
            right = OWN_PROXIES.get(name) or ("toy_proxy_server.py" if name in NIXL else None)
            other = program in PLAIN_PROXIES or made_for is not None or name in OWN_PROXIES
            if right is None or right == program or not other:
                continue
            yield Hit(
                proxy.origin,
                Msg(
                    f"this proxy does not add what {name} needs to its requests: no KV is transferred",
                    f"这个代理不会在请求里加上 {name} 需要的内容：KV 不会传输",
                ),
                Msg(f"start {right}", f"改用 {right}"),
                related=((connector.tree.origin, Msg("the connector", "连接器")),),
            )
            return


def bootstrap(proxy: Proxy, deployment: Deployment) -> Iterator[Hit]:
    """Yield a proxy that asks for MooncakeConnector's bootstrap server at another port than the producer's."""
    asked = bootstrap_asked(proxy) if proxy.program.rpartition("/")[2] == OWN_PROXIES["MooncakeConnector"] else None
    if not asked:
        return
    for node in of_side(deployment, "prefill"):
        for connector in transfer_connectors(node) or ():
            port = bootstrap_port(node, connector) if connector.name == "MooncakeConnector" else None
            if port is None or not on_host_network(node) or any(port.first == one for one, _ in asked):
                continue
            yield Hit(
                asked[0][1],
                Msg(
                    f"the producer's bootstrap server is on port {port.first}, but the proxy uses {asked[0][0]}",
                    f"生产者的 bootstrap 服务在端口 {port.first}，代理却访问 {asked[0][0]}",
                ),
                Msg(f"write {port.first} after the URL of --prefill", f"在 --prefill 的 URL 后面写 {port.first}"),
                related=((port.origin, Msg("the producer's port", "生产者的端口")),),
            )
            return
