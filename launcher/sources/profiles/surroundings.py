"""What surrounds the engines of a profile: variables, devices, network, container."""

from __future__ import annotations

from dataclasses import replace

from pd_launch.launcher.sources.profiles.side import OneSide
from pd_launch.launcher.sources.profiles.variables import layered_variables
from pd_launch.schemas.core.launch import Container, EnvVar, NodeLaunch
from pd_launch.schemas.core.parallel import device_range
from pd_launch.schemas.core.values import Node, Origin, Unknown


class Surroundings(OneSide):
    """Renders the environment and the container of a launch."""

    def environment(self, launch: NodeLaunch, number: int, index: int | None) -> None:
        """Set the variables of a launch: of both sides, of this side, of the node, and what follows from others."""
        tree = self.loaded.tree
        sections = (tree.get("env"), tree.get(self.side, "env"), tree.get("nodes", self.side, number, "env"))
        launch.env |= layered_variables([section for section in sections if section is not None])
        unset = {name for name, variable in launch.env.items() if variable.value.value is None}
        self._network(launch, number)
        variable = launch.hardware.device_variable if launch.hardware else None
        if index is not None and variable and variable not in unset:
            self._visible(launch, variable, index)
        for name in unset:
            del launch.env[name]

    def _visible(self, launch: NodeLaunch, variable: str, index: int) -> None:
        """Give the ``index``-th engine of a node its own devices, out of those that the profile names, if any."""
        span = device_range(index, self.section.parallel.layout().world_size)
        named = launch.variable(variable)
        numbers = [n.strip() for n in named.split(",")] if named else None
        if numbers is not None and len(numbers) < span.stop:
            return  # too few: PD401 says so
        own = ",".join(numbers[i] if numbers else str(i) for i in span)
        place = launch.env[variable].value.origin if named else self.at("parallel", "data").origin
        launch.env[variable] = EnvVar(variable, Node(own, place), "profile")

    def _network(self, launch: NodeLaunch, number: int) -> None:
        if self.profile.network is not None:
            place = self.at("network", "interface", shared=True)
            value = self.profile.network.interface
            for name in ("GLOO_SOCKET_IFNAME", "TP_SOCKET_IFNAME", "HCCL_SOCKET_IFNAME"):
                if name.startswith("HCCL") and not self.target.is_ascend:
                    continue
                launch.env.setdefault(name, EnvVar(name, _auto(value, place.origin), "profile"))
        address = self.address(number)
        if address is not None and self.target.is_ascend:
            place = self.loaded.tree.get("nodes", self.side, number, "address") or self.at("nodes", shared=True)
            launch.env.setdefault("HCCL_IF_IP", EnvVar("HCCL_IF_IP", _auto(address, place.origin), "profile"))

    def container(self) -> Container | None:
        """Return the container that engines run in, where the profile names one."""
        said = self.profile.container
        if said is None:
            return None
        place = self.at("container", shared=True)
        container = Container("profile", place.key or place.origin)
        if said.image is not None:
            container.image = self.at("container", "image", shared=True)
        for key in ("shm_size", "memory"):
            size = getattr(said, key)
            if size is not None:
                setattr(container, key, replace(self.at("container", key, shared=True), value=size, shadowed=[]))
        container.runtime = said.runtime
        return container


def _auto(value: str, origin: Origin) -> Node:
    return Node(Unknown("auto") if value == "auto" else value, origin)
