"""Compose files: each service that starts an engine is a node."""

from __future__ import annotations

from pd_launch.launcher.sources.engine.around import Around
from pd_launch.launcher.sources.engine.docker import add_mount
from pd_launch.launcher.sources.engine.engines import add_engine, add_proxy, image_engine, nest_scripts
from pd_launch.launcher.sources.engine.found import Finish, Found, Nested
from pd_launch.launcher.sources.engine.one_word import apart
from pd_launch.launcher.sources.forms.dockerfile import read as read_dockerfile
from pd_launch.launcher.sources.forms.lmcache_file import read_written
from pd_launch.launcher.sources.forms.relocate import is_inside, read_inside
from pd_launch.launcher.sources.text.interpolate import COMPOSE, Words, expand, expand_command, expand_value
from pd_launch.schemas.core.launch import Container, EnvVar, Fault, NodeLaunch, Side
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.values import HOLE, Node, Origin, Text

HOOKS = ("post_start", "pre_stop")


def is_compose(tree: Node) -> bool:
    """Whether a document is a compose file."""
    services = tree.get("services")
    return services is not None and isinstance(services.value, dict)


def read_compose(tree: Node, path: str, found: Found) -> None:
    """Add the engines of a compose file's services to ``found``."""
    services = tree.get("services")
    for name, service in services.items() if services else ():
        if isinstance(service.value, dict):
            _service(name, service, _configs(tree, service), path, found)


def _configs(tree: Node, service: Node) -> dict[str, Text]:
    """Return the files that a service gets from ``configs`` whose content is in the file, by path."""
    files: dict[str, Text] = {}
    listed = service.get("configs")
    for entry in listed.elements() if listed else ():
        name, target = entry.get("source") or entry, entry.get("target")
        content = tree.get("configs", name.value, "content") if isinstance(name.value, str) else None
        text = interpolated(content) if content is not None else None
        if text is not None:
            files[str(target.value) if target is not None else f"/{name.value}"] = text
    return files


def _service(name: str, service: Node, files: dict[str, Text], path: str, found: Found) -> None:
    container = _container(name, service)
    env = _environment(service.get("environment"))
    entrypoint = _words(service.get("entrypoint"), found)
    command = _words(service.get("command"), found)
    words = apart(entrypoint.having([*entrypoint, *command]), found)
    origin = service.key or service.origin
    started = sorted(str(profile.value) for profile in _list(service, "profiles"))
    host = f"host of {' and '.join(started)}" if started else "host"  # services of other profiles run elsewhere

    def finish(node: NodeLaunch) -> None:
        node.container = container
        node.env = {**env, **node.env}
        node.env_open = _further(service)
        node.side = node.side or side_of(name)
        node.host = host if container.host_network else None
        read_written(node, files, found)

    words = image_engine(words, container.image, bool(entrypoint))
    if not add_engine(words, "compose", name, origin, found, finish):
        folder = _scalar(service.get("working_dir"))
        around = Around(files, (folder.string() if folder else None) or "/", env)
        if service.get("network_mode") is None:
            add_proxy(words, container, found)
        nest_scripts(words, origin, found, finish, around)
    _probe(service, found, finish, env)
    built = service.get("build", "dockerfile_inline")
    if built is not None and built.text is not None and not words and not is_inside(built.text.source):
        read_inside(built.text, found, lambda source, inner: read_dockerfile(source, source, inner), "Dockerfile")
    for hook in (entry for key in HOOKS if (node := service.get(key)) for entry in node.elements()):
        words = _words(hook.get("command"), found)
        if words and not add_engine(words, "compose", name, origin, found, finish):
            nest_scripts(words, origin, found, finish, Around(env=env))


def _probe(service: Node, found: Found, finish: Finish, env: dict[str, EnvVar]) -> None:
    """Add what the check of a service's health starts: words after CMD, or a line for a shell."""
    test = service.get("healthcheck", "test")
    if test is None:
        return
    texts = [part.text for part in test.elements() if part.text is not None]
    if test.text is not None or (texts and texts[0].value == "CMD-SHELL"):
        line = interpolated(test) if test.text is not None else expand_value(texts[-1], COMPOSE)
        if line is not None:
            found.nested.append(Nested(line, finish, env))
    elif texts:
        words = expand(texts[1:], COMPOSE)
        if words and not add_engine(words, "compose", "healthcheck", test.origin, found, finish):
            nest_scripts(words, test.origin, found, finish, Around(env=env))


def _further(service: Node) -> Origin | None:
    """Return where a service takes variables from that are not in the file."""
    found = service.get("env_file") or service.get("extends", "file")
    return None if found is None else found.key or found.origin


def side_of(*names: str) -> Side | None:
    """Return the side that a key, name or label speaks of."""
    for name in names:
        lower = name.lower()
        if "prefill" in lower:
            return "prefill"
        if "decode" in lower:
            return "decode"
    return None


def interpolated(node: Node) -> Text | None:
    """Return a scalar's text with compose's variables replaced by what the file knows: their defaults."""
    return expand_value(node.text, COMPOSE) if node.text is not None else None


def _words(node: Node | None, found: Found) -> Words:
    if node is None or isinstance(node.value, list):
        texts = (part.text for part in node.elements()) if node is not None else ()
        return expand((text for text in texts if text is not None), COMPOSE)
    if node.text is None:
        return expand((), COMPOSE)
    words, unclosed = expand_command(node.text, COMPOSE)
    if unclosed is not None:
        found.faults.append(Fault("shell", unclosed, Msg("this quote is never closed", "这个引号没有闭合")))
    return words


def _environment(node: Node | None) -> dict[str, EnvVar]:
    env: dict[str, EnvVar] = {}
    for name, value in node.items() if node else ():
        text = interpolated(value)
        if value.value is None or text is None:
            text = value.text.stand_in(HOLE) if value.text else None
        if text is not None:
            env[name] = EnvVar.of(name, text, "compose", value.key_text)
            env[name].value.site = value.site if value.text is not None and text.value == value.text.value else None
    for entry in node.elements() if node else ():
        text = interpolated(entry)
        if text is None:
            continue
        name, sign, _ = text.value.partition("=")
        value_text = text.part(len(name) + 1, len(text.value)) if sign else text.stand_in(HOLE)
        env[name] = EnvVar.of(name, value_text, "compose", text.part(0, len(name)))
    return env


def _container(name: str, service: Node) -> Container:
    container = Container("compose", service.key or service.origin, name=name)
    container.image = _scalar(service.get("image"))
    container.shm_size = _scalar(service.get("shm_size"))
    container.memory = _scalar(service.get("deploy", "resources", "limits", "memory") or service.get("mem_limit"))
    container.privileged = _is(service.get("privileged"), True)
    runtime = _scalar(service.get("runtime"))
    container.runtime = runtime.string() if runtime else None
    mode = _scalar(service.get("network_mode"))
    container.host_network = mode is not None and mode.value == "host" if mode is None or mode.known else None
    ipc = service.get("ipc")
    if ipc is not None and ipc.value not in ("private", "shareable"):
        container.shm_shared = ipc.key or ipc.origin
    for device in _list(service, "devices"):
        container.devices.append(device)
    for mount in _list(service, "volumes"):
        add_mount(container, mount)
    for entry in _list(service, "tmpfs"):
        if isinstance(entry.value, str) and entry.value.startswith("/dev/shm"):
            container.shm_shared = entry.origin
    container.published = _list(service, "ports")
    _gpus(service, container)
    return container


def _gpus(service: Node, container: Container) -> None:
    devices = service.get("deploy", "resources", "reservations", "devices")
    for device in devices.elements() if devices else ():
        count = device.get("count")
        if count is not None:
            container.resources["nvidia.com/gpu"] = count
        listed = device.get("device_ids")
        numbers = [str(one.value) for one in listed.elements()] if listed is not None else []
        if listed is not None and numbers and all(number.isdecimal() for number in numbers):
            container.numbered = Node(",".join(numbers), listed.origin)


def _list(service: Node, key: str) -> list[Node]:
    """Return a list's entries as texts; the long form of a mount becomes ``SOURCE:TARGET``."""
    node = service.get(key)
    entries: list[Node] = []
    for entry in node.elements() if node else ():
        if isinstance(entry.value, dict):
            source, target = entry.get("source"), entry.get("target")
            left = source.value if source else ""
            entries.append(Node(f"{left}:{target.value if target else ''}", entry.origin))
        else:
            found = _scalar(entry)
            if found is not None:
                entries.append(found)
    if node is not None and isinstance(node.value, str):
        entries.append(node)
    return entries


def _scalar(node: Node | None) -> Node | None:
    if node is None or node.value is None:
        return None
    text = interpolated(node)
    if text is None or "$" not in (node.text.value if node.text else ""):
        return node
    replaced = text.node()
    replaced.key = node.key
    return replaced


def _is(node: Node | None, value: object) -> bool:
    return node is not None and node.value == value
