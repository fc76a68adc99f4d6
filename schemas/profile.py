"""The profile: one file that describes both sides of a deployment (format version 1)."""

from __future__ import annotations

import re
import unicodedata
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    WithJsonSchema,
    field_validator,
    model_validator,
)

from pd_launch.schemas.core.errors import ValueFault
from pd_launch.schemas.core.hardware import HARDWARE, Hardware
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.parallel import Parallel
from pd_launch.schemas.core.target import Target, ascend_target, parse_target, vllm_target
from pd_launch.schemas.core.units import SIZE_PATTERN, parse_size
from pd_launch.schemas.engine.budget import parse_bytes, parse_ratio

_SIZE = WithJsonSchema({"anyOf": [{"type": "integer", "minimum": 0}, {"type": "string", "pattern": SIZE_PATTERN}]})
Bytes = Annotated[int, BeforeValidator(parse_size), _SIZE]
PositiveBytes = Annotated[int, BeforeValidator(parse_size), Field(gt=0), _SIZE]
Port = Annotated[int, Field(ge=1, le=65535, strict=True)]
Count = Annotated[int, Field(ge=1, strict=True)]
MAX_DEVICES, MAX_ENGINES = 65536, 512
EnvValue = str | int | float | bool


def _none() -> list[Any]:
    """Return an empty list: of ``list`` itself, pydantic asks for the signature, which Python parses from a text."""
    return []


def _nothing() -> dict[Any, Any]:
    return {}


def _variable(name: str) -> str:
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        raise ValueFault(
            Msg(f"{name!r} is not a valid environment variable name", f"{name!r} 不能作环境变量名"),
            Msg(
                "a name has letters, digits and _, and does not begin with a digit",
                "名字只含字母、数字和 _，且不以数字开头",
            ),
        )
    return name


_UNSEEN = ("Cc", "Cf", "Cs", "Zl", "Zp")
"""Categories of Unicode: control and format characters, halves of pairs, line and paragraph separators."""
_LINE_PATTERN = r"^(?!-)[^\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]*$"
CONTAINER_NAME = r"[a-zA-Z0-9][a-zA-Z0-9_.-]+"
"""What docker takes as a container's name."""


def is_line(text: str) -> bool:
    """Whether a text is on one line and shows all that it holds: no control and no format characters."""
    return text.isprintable() or not any(unicodedata.category(character) in _UNSEEN for character in text)


def _line(text: str) -> str:
    if not is_line(text):
        raise ValueFault(
            Msg("must not contain line breaks or other control characters", "不能含有换行或其他控制字符"),
            Msg("write it on one line, without invisible characters", "写成一行，不要含有不可见的字符"),
        )
    if text.startswith("-"):
        raise ValueFault(
            Msg(
                "must not begin with -: a command line would treat it as an option",
                "不能以 - 开头：命令行会把它当成选项",
            ),
            Msg("write the name itself", "请写名称本身"),
        )
    return text


def _path_list(text: str) -> str:
    """Refuse an empty part: the loader would take it for the folder that it is started in."""
    if text and not all(text.split(":")):
        raise ValueFault(
            Msg("has an empty part between its colons", "冒号之间有空的部分"),
            Msg(
                "remove the leading or trailing colon: it is added automatically",
                "去掉开头或结尾的冒号：会自动加上",
            ),
        )
    return text


def _container_name(name: str) -> str:
    if not re.fullmatch(CONTAINER_NAME, name):
        raise ValueFault(
            Msg(f"{name!r} is not a valid container name", f"{name!r} 不能作容器名"),
            Msg(
                "write two or more letters, digits, _, . and -, beginning with a letter or digit, such as decode-0",
                "写至少两个字母、数字、_、. 或 -，以字母或数字开头，例如 decode-0",
            ),
        )
    return name


class JoinSection(BaseModel):
    """A list of paths, with ``:`` between, around what the variable holds where the engine starts."""

    model_config = ConfigDict(extra="forbid", defer_build=True)

    prepend: Annotated[str, AfterValidator(_path_list)] = ""
    """Text before it, such as a folder before LD_LIBRARY_PATH."""
    append: Annotated[str, AfterValidator(_path_list)] = ""
    """Text after it."""

    @model_validator(mode="after")
    def _one_at_least(self) -> JoinSection:
        if not self.prepend and not self.append:
            raise ValueFault(
                Msg("give prepend or append", "请写 prepend 或 append"),
                Msg("write for example {prepend: /usr/local/lib}", "例如写 {prepend: /usr/local/lib}"),
            )
        return self


Line = Annotated[str, AfterValidator(_line), Field(json_schema_extra={"pattern": _LINE_PATTERN})]
ContainerName = Annotated[
    str, AfterValidator(_container_name), Field(json_schema_extra={"pattern": f"^{CONTAINER_NAME}$"})
]


def _arm(value: Any) -> str:
    return "join" if isinstance(value, (dict, JoinSection)) else "text"


_Value = Annotated[Annotated[JoinSection, Tag("join")] | Annotated[EnvValue | None, Tag("text")], Discriminator(_arm)]
Environment = dict[Annotated[str, AfterValidator(_variable)], _Value]
"""Variables by name; null leaves one unset that would be set otherwise, prepend and append keep what it holds."""
FlagValue = Any


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", defer_build=True)


class HardwareSection(_Section):
    """A kind of hardware with what differs from its usual node."""

    kind: Literal["a2", "a3", "cuda", "cpu"]
    """a2, a3 (Ascend), cuda or cpu."""
    devices: Count | None = None
    """Devices on one node."""
    memory: Bytes | None = None
    """Memory of one device, such as 32GiB."""


class ParallelSection(_Section):
    """How one side is spread over devices and nodes."""

    tensor: Count = 1
    """Tensor-parallel size (TP)."""
    pipeline: Count = 1
    """Pipeline-parallel size (PP)."""
    prefill_context: Count = 1
    """Prefill-context-parallel size (PCP)."""
    decode_context: Count = 1
    """Decode-context-parallel size (DCP); it lies inside TP."""
    data: Count = 1
    """Data-parallel ranks (DP) of the whole side, over all its nodes."""
    expert: bool = False
    """Whether experts are spread over the ranks (--enable-expert-parallel)."""
    launch: Literal["internal", "external", "hybrid"] = "internal"
    """How data-parallel ranks are started: by vLLM, one engine each, or a mix with a server on each node."""
    ranks: list[Count] | None = None
    """Data-parallel ranks on each node, where they are not equal."""

    def layout(self) -> Parallel:
        """Return the sizes for arithmetic."""
        return Parallel(self.tensor, self.pipeline, self.prefill_context, self.decode_context, self.data)

    @model_validator(mode="after")
    def _ranks_add_up(self) -> ParallelSection:
        if self.tensor * self.pipeline * self.prefill_context * self.data > MAX_DEVICES:
            raise ValueFault(
                Msg(f"more than {MAX_DEVICES} devices", f"超过 {MAX_DEVICES} 个设备"),
                Msg(
                    "tensor × pipeline × prefill_context × data is the number of devices of this side: correct these",
                    "本侧设备数是 tensor × pipeline × prefill_context × data，请改正它们",
                ),
            )
        if self.launch == "external" and self.data > MAX_ENGINES:
            raise ValueFault(
                Msg(
                    f"more than {MAX_ENGINES} engines that are started one by one",
                    f"超过 {MAX_ENGINES} 个要逐个启动的引擎",
                ),
                Msg(
                    f"write data: {MAX_ENGINES} or less, or launch: internal",
                    f"把 data 写成不超过 {MAX_ENGINES}，或写 launch: internal",
                ),
            )
        if self.ranks is not None and sum(self.ranks) != self.data:
            total = sum(self.ranks)
            raise ValueFault(
                Msg(
                    f"ranks add up to {total}, but data is {self.data}", f"ranks 之和是 {total}，而 data 是 {self.data}"
                ),
                Msg(
                    f"write data: {total}, or ranks that add up to {self.data}",
                    f"写 data: {total}，或让 ranks 之和等于 {self.data}",
                ),
            )
        return self


class OffloadSection(_Section):
    """Host memory for preempted requests: exactly one way to say how much."""

    per_rank: PositiveBytes | None = None
    """Bytes for each rank (card), such as 16GiB."""
    per_engine: PositiveBytes | None = None
    """Bytes for each engine (data-parallel rank); divided over its ranks, which must come out even."""
    per_node: PositiveBytes | None = None
    """Bytes for each node; divided over its ranks, which must come out even."""
    cpu_bytes_to_use: Annotated[int, BeforeValidator(lambda v: parse_bytes("cpu_bytes_to_use", v))] | None = None
    """Passed on literally: the engine divides it by TP × PP × PCP."""
    ratio: Annotated[float, BeforeValidator(parse_ratio)] | None = None
    """Host blocks as a multiple of the device's blocks."""
    prefix_caching: bool = False
    """Share full blocks with the same prefix hash (experimental)."""
    connector: Literal["bundled", "builtin"] = "bundled"
    """The connector that comes with pd-launch, or vllm-ascend's own."""

    @model_validator(mode="after")
    def _one_way(self) -> OffloadSection:
        ways = ("per_rank", "per_engine", "per_node", "cpu_bytes_to_use", "ratio")
        given = [way for way in ways if getattr(self, way) is not None]
        if len(given) != 1:
            found = " and ".join(given) if given else "none"
            found_zh = f"写了 {'、'.join(given)}" if given else "一个也没有写"
            raise ValueFault(
                Msg(
                    f"give exactly one of {', '.join(ways)}; found {found}",
                    f"{'、'.join(ways)} 必须写且只能写一个；现在{found_zh}",
                ),
                Msg("write for example per_rank: 16GiB", "例如写 per_rank: 16GiB"),
            )
        return self


class TransferSection(BaseModel):
    """The P/D connector. Fields of --kv-transfer-config go there; every other key is the connector's own option."""

    model_config = ConfigDict(extra="allow", defer_build=True)

    connector: Annotated[Line, Field(min_length=1)]
    """Registered name, such as MooncakeConnectorV1 or NixlConnector."""
    kv_port: Port | None = None
    """First port of the KV transfer; each rank takes its own from there."""
    load_failure_policy: Literal["fail", "recompute"] | None = None
    """What happens to a request whose KV cannot be loaded."""


class NetworkSection(_Section):
    """Which network interface the nodes use."""

    interface: Line
    """Name such as eth0, or auto."""


def _one_connector(transfer: dict[str, Any]) -> dict[str, Any]:
    if "connector" in transfer:
        raise ValueFault(
            Msg(
                "the connector is the same on both sides: write it in the shared transfer section",
                "两侧的连接器相同：请写在共用的 transfer 里",
            ),
            Msg(
                "delete it here, and write transfer.connector at the profile's top level",
                "在这里删掉，在配置文件顶层写 transfer.connector",
            ),
            at=("connector",),
        )
    return transfer


class NodeSection(_Section):
    """One node of a side."""

    address: Line
    """Address by which the other nodes reach it, or auto."""
    env: Environment = Field(default_factory=_nothing)
    """Environment variables for this node; null leaves one unset."""
    transfer: Annotated[dict[str, Any], AfterValidator(_one_connector)] = Field(default_factory=_nothing)
    """What differs on this node from its side's transfer section, such as engine_id."""


class VolumeSection(_Section):
    """A volume of the container: exactly one of host, pvc, secret and empty says what it is."""

    path: Line
    """Where it is mounted, such as /models."""
    host: Line | None = None
    """A folder of the node."""
    pvc: Line | None = None
    """Name of a PersistentVolumeClaim."""
    secret: Line | None = None
    """Name of a Secret, each of whose keys is a file."""
    empty: Bytes | bool | None = None
    """An empty folder that is gone with the pod: true, or its size."""
    read_only: bool = False
    """Whether nothing can be written there."""

    @model_validator(mode="after")
    def _one_kind(self) -> VolumeSection:
        given = [name for name in ("host", "pvc", "secret", "empty") if getattr(self, name) not in (None, False)]
        if len(given) != 1:
            found_zh = f"写了 {'、'.join(given)}" if given else "一个也没有写"
            raise ValueFault(
                Msg(
                    f"give exactly one of host, pvc, secret and empty; found {' and '.join(given) or 'none'}",
                    f"host、pvc、secret、empty 必须写且只能写一个；现在{found_zh}",
                ),
                Msg("write for example {path: /models, pvc: models}", "例如写 {path: /models, pvc: models}"),
            )
        return self


class ContainerSection(_Section):
    """The container that the engines run in."""

    image: Line | None = None
    """Image with tag."""
    shm_size: Bytes | None = None
    """Size of /dev/shm, such as 64GiB."""
    memory: Bytes | None = None
    """Memory limit."""
    mounts: list[Line] = Field(default_factory=_none)
    """Further mounts, as HOST:CONTAINER."""
    name: ContainerName | None = None
    """Name of the container."""
    runtime: Line | None = None
    """Container runtime, such as ascend."""
    volumes: list[VolumeSection] = Field(default_factory=_none)
    """Volumes: folders of the node, claims, Secrets, empty folders."""
    devices: list[Line] = Field(default_factory=_none)
    """Further devices for docker and compose, such as /dev/infiniband."""
    resources: dict[Line, int | Line] = Field(default_factory=_nothing)
    """Further resources of a pod, such as rdma/hca: 1, or another name for the devices: huawei.com/ascend-1980: 16."""
    node_selector: dict[Line, Line] = Field(default_factory=_nothing)
    """Labels that the node of a pod must have."""
    tolerations: list[dict[str, Any]] = Field(default_factory=_none)
    """Taints of nodes that a pod tolerates, as Kubernetes writes them."""
    annotations: dict[Line, str] = Field(default_factory=_nothing)
    """Annotations of a pod, such as the one that gives it a further network."""


PatchForm = Literal["compose", "k8s", "kserve", "llm-d"]


def _identified(patch: dict[str, Any]) -> dict[str, Any]:
    """Refuse what would take an object's kind or name from it, or give it one that is no text."""
    for at, wanted, en, zh in (
        (("kind",), str, "a string", "字符串"),
        (("metadata",), dict, "a mapping", "映射"),
        (("metadata", "name"), str, "a string", "字符串"),
    ):
        holder = patch if len(at) == 1 else patch.get("metadata", {})
        if at[-1] in holder and not isinstance(holder[at[-1]], wanted):
            raise ValueFault(
                Msg(f"{'.'.join(at)} must be {en}", f"{'.'.join(at)} 应当是{zh}"),
                Msg(
                    "kind and metadata.name say which objects the patch is for; write for example kind: StatefulSet",
                    "kind 和 metadata.name 表明补丁针对哪些对象；例如写 kind: StatefulSet",
                ),
                at=at,
            )
    return patch


def _patches(value: Any) -> str:
    return "many" if isinstance(value, list) else "one"


_Patch = Annotated[dict[str, Any], AfterValidator(_identified)]
_Patches = Annotated[Annotated[_Patch, Tag("one")] | Annotated[list[_Patch], Tag("many")], Discriminator(_patches)]


class NodesSection(_Section):
    """The nodes of each side, in the order of their ranks."""

    prefill: list[NodeSection] = Field(default_factory=_none)
    """Nodes of the prefill side."""
    decode: list[NodeSection] = Field(default_factory=_none)
    """Nodes of the decode side."""


class SideSection(_Section):
    """One side of the deployment."""

    parallel: ParallelSection = Field(default_factory=ParallelSection)
    """Parallel sizes."""
    port: Port = 8000
    """HTTP port of the first engine."""
    rpc_port: Port = 13389
    """Port of the data-parallel master."""
    master_port: Port = 29501
    """Port at which the nodes of an engine meet that spans several."""
    replicas: Count = 1
    """Instances of the whole side, each on its own nodes, in a cluster."""
    engine: dict[str, FlagValue] = Field(default_factory=_nothing)
    """Flags of vllm serve by their long names, for this side."""
    env: Environment = Field(default_factory=_nothing)
    """Environment variables for this side; null leaves one unset that would be set otherwise."""
    transfer: Annotated[dict[str, Any], AfterValidator(_one_connector)] = Field(default_factory=_nothing)
    """What differs on this side from the shared transfer section, such as kv_port or engine_id."""
    kv_transfer_config: dict[str, Any] | None = None
    """--kv-transfer-config written out whole, in place of what transfer and offload would give."""

    @model_validator(mode="after")
    def _one_configuration(self) -> SideSection:
        if self.kv_transfer_config is not None and (self.transfer or getattr(self, "offload", None) is not None):
            raise ValueFault(
                Msg(
                    "kv_transfer_config is the complete configuration: leave out transfer and offload",
                    "kv_transfer_config 是完整的配置：不要再写 transfer 和 offload",
                ),
                Msg(
                    "write the offload connector into kv_transfer_config, or leave kv_transfer_config out",
                    "把卸载连接器写进 kv_transfer_config，或不写 kv_transfer_config",
                ),
            )
        return self


class DecodeSection(SideSection):
    """The decode side."""

    offload: OffloadSection | None = None
    """Host memory for preempted requests."""


def _beside_whole(side: str, node: int) -> ValueFault:
    return ValueFault(
        Msg(
            f"nodes.{side} has transfer, but {side}.kv_transfer_config is the complete configuration",
            f"nodes.{side} 写了 transfer，而 {side}.kv_transfer_config 是完整的配置",
        ),
        Msg(
            f"remove transfer here, or {side}.kv_transfer_config",
            f"去掉这里的 transfer，或去掉 {side}.kv_transfer_config",
        ),
        at=("nodes", side, node, "transfer"),
    )


def _without_shared(*at: str | int) -> ValueFault:
    return ValueFault(
        Msg(
            f"{'.'.join(map(str, at))}: its options need the shared section transfer, which names the connector",
            f"{'.'.join(map(str, at))}：这些选项需要共用的 transfer 一节，连接器写在那里",
        ),
        Msg(
            "write transfer: {connector: MooncakeConnectorV1} at the profile's top level",
            "在配置文件顶层写 transfer: {connector: MooncakeConnectorV1}",
        ),
        at=at,
    )


class Profile(_Section):
    """A whole P/D deployment. Sizes that the engine wants repeated on both sides are derived, never typed twice."""

    version: Literal[1]
    """Version of this format."""
    name: Line = "profile"
    """Name of the deployment."""
    target: str | dict[Literal["vllm_ascend", "vllm"], str] | None = None
    """Release, such as vllm-ascend==0.25.1rc1."""
    hardware: Literal["a2", "a3", "cuda", "cpu"] | HardwareSection
    """Kind of the nodes."""
    model: Line
    """Path or hub name of the model."""
    engine: dict[str, FlagValue] = Field(default_factory=_nothing)
    """Flags of vllm serve by their long names, for both sides."""
    env: Environment = Field(default_factory=_nothing)
    """Environment variables for both sides."""
    transfer: TransferSection | None = None
    """The P/D connector."""
    prefill: SideSection | None = None
    """The prefill side."""
    decode: DecodeSection | None = None
    """The decode side."""
    network: NetworkSection | None = None
    """Network interface."""
    container: ContainerSection | None = None
    """Container that the engines run in."""
    nodes: NodesSection = Field(default_factory=NodesSection)
    """Nodes of each side; one node each where left out."""
    patch: dict[PatchForm, _Patches] = Field(default_factory=_nothing)
    """What is merged into a rendered object, by form: an object of its kind, and name where it has one."""

    @field_validator("target", mode="after")
    @classmethod
    def _one_family(cls, target: object) -> object:
        if isinstance(target, dict) and len(target) != 1:
            raise ValueFault(
                Msg("name one release, of vllm_ascend or of vllm", "只写一个版本：vllm_ascend 的或 vllm 的"),
                Msg(
                    "write for example vllm-ascend==0.25.1rc1; its vLLM release follows from it",
                    "例如写 vllm-ascend==0.25.1rc1；它对应的 vLLM 由它确定",
                ),
            )
        return target

    @model_validator(mode="after")
    def _has_a_side(self) -> Profile:
        if self.prefill is None and self.decode is None:
            raise ValueFault(
                Msg("needs a section decode or prefill", "需要 decode 或 prefill 一节"),
                Msg(
                    "write for example decode: {parallel: {tensor: 8}, offload: {per_rank: 16GiB}}",
                    "例如写 decode: {parallel: {tensor: 8}, offload: {per_rank: 16GiB}}",
                ),
            )
        return self

    @model_validator(mode="after")
    def _differences_count(self) -> Profile:
        """Refuse transfer options that nothing would render."""
        for name in ("prefill", "decode"):
            side: SideSection | None = getattr(self, name)
            nodes: list[NodeSection] = getattr(self.nodes, name)
            differing = [number for number, node in enumerate(nodes) if node.transfer]
            if side is not None and side.kv_transfer_config is not None and differing:
                raise _beside_whole(name, differing[0])
            if self.transfer is None and side is not None and side.transfer:
                raise _without_shared(name, "transfer")
            if self.transfer is None and differing:
                raise _without_shared("nodes", name, differing[0], "transfer")
        return self

    def hardware_kind(self) -> Hardware:
        """Return what is known of a node, with what the profile says about it."""
        if isinstance(self.hardware, str):
            return HARDWARE[self.hardware]
        kind = HARDWARE[self.hardware.kind]
        devices = self.hardware.devices or kind.devices
        direct = range(20000, 20000 + 1000 * devices) if kind.ascend and devices else kind.direct_ports
        return Hardware(
            kind.kind,
            kind.ascend,
            devices,
            self.hardware.memory or kind.device_bytes,
            kind.device_variable,
            direct,
            kind.resources,
        )

    def release(self) -> Target | None:
        """Return the target that the profile names, or None.

        Raises:
            TargetError: it names nonsense.
        """
        if self.target is None:
            return None
        if isinstance(self.target, str):
            return parse_target(self.target, "profile")
        if "vllm_ascend" in self.target:
            return ascend_target(self.target["vllm_ascend"], "profile")
        return vllm_target(self.target["vllm"], "profile")
