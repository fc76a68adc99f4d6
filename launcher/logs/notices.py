"""Warnings and errors in engines' logs: which of them matter for preemption offload, and what to change."""

from __future__ import annotations

from functools import cached_property
from typing import Literal

from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.record import dataclass
from pd_launch.schemas.releases.features import RENAMED
from pd_launch.schemas.releases.log_lines import writers

Weight = Literal["error", "warning", "benign"]


@dataclass(frozen=True)
class Notice:
    """One kind of message. ``fatal`` ones keep the engine from starting, or end it.

    ``also`` must be in the line too; ``raised`` ones count only after the name of an exception.
    """

    needle: str
    weight: Weight
    code: str
    message: Msg
    help: Msg
    also: str = ""
    raised: bool = False

    @property
    def releases(self) -> str:
        """Who writes it, in which releases."""
        return writers(self.needle)

    @cached_property
    def raw(self) -> bytes:
        """The literal as bytes."""
        return self.needle.encode()


def _error(needle: str, code: str, en: str, zh: str, help_en: str, help_zh: str, also: str = "") -> Notice:
    return Notice(needle, "error", code, Msg(en, zh), Msg(help_en, help_zh), also, raised=True)


def _note(needle: str, weight: Weight, code: str, en: str, zh: str, help_en: str, help_zh: str) -> Notice:
    return Notice(needle, weight, code, Msg(en, zh), Msg(help_en, help_zh))


_LOST = (
    "vllm-ascend's connector met a state that it does not handle, and the engine ended",
    "vllm-ascend 的连接器遇到了它不能处理的状态，引擎已退出",
    "use offload.connector: bundled, or report the log to vllm-ascend",
    "改用 offload.connector: bundled，或把日志报告给 vllm-ascend",
)
_STATUS_QUO = ("nothing to change", "无需修改")

NOTICES = (
    # Startup errors
    _error(
        "recompute_scheduler_enable can only be enabled",
        "PD102",
        "the recompute scheduler is switched on for a role that does not support it",
        "在不支持的角色上打开了重计算调度器",
        'set the top-level kv_role to "kv_consumer" on decode nodes, and remove recompute_scheduler_enable elsewhere',
        "解码节点顶层的 kv_role 写 kv_consumer，其他节点去掉 recompute_scheduler_enable",
    ),
    _error(
        "Unsupported connector type: ",
        "PD201",
        "this release has no connector of that name",
        "该版本没有这个名字的连接器",
        f"the name is RecomputeCPUOffloadConnector up to {RENAMED.before} and PreemptOffloadConnector later; on vLLM "
        "alone set kv_connector_module_path to pd_launch.connector",
        f"{RENAMED.before} 及以前叫 RecomputeCPUOffloadConnector，之后叫 PreemptOffloadConnector；原版 vLLM 请设 "
        "kv_connector_module_path 为 pd_launch.connector",
    ),
    _error(
        "No module named 'pd_launch",
        "PD202",
        "the engine cannot import pd_launch",
        "引擎不能导入 pd_launch",
        "install pd-launch into the Python environment that vLLM runs in",
        "把 pd-launch 安装到 vLLM 所用的 Python 环境",
    ),
    _error(
        " is not registered",
        "PD202",
        "MultiConnector could not rebuild a child's statistics: its class is not registered",
        "MultiConnector 无法重建子连接器的统计：它的类没有注册",
        "load the connector by kv_connector_module_path pd_launch.connector, which registers its names",
        "用 kv_connector_module_path: pd_launch.connector 加载连接器，它会注册自己的名字",
        also="Connector",
    ),
    _error(
        "enable_offload_prefix_caching must be a bool",
        "PD007",
        "enable_offload_prefix_caching is not a boolean",
        "enable_offload_prefix_caching 不是布尔值",
        "write true or false, without quotes",
        "写 true 或 false，不加引号",
    ),
    _error(
        "offload_host_memory_ratio",
        "PD007",
        "offload_host_memory_ratio cannot be used",
        "offload_host_memory_ratio 的值不可用",
        "write a number above 0, such as 1.0",
        "写大于 0 的数，例如 1.0",
        also="must be",
    ),
    _error(
        "effective per-rank CPU offload memory must be positive",
        "PD007",
        "the budget per rank comes out as zero",
        "每个 rank 分到的预算为零",
        "set cpu_bytes_to_use_per_rank, such as 17179869184 for 16 GiB",
        "设 cpu_bytes_to_use_per_rank，例如 17179869184(16 GiB)",
    ),
    _error(
        "cpu_bytes_to_use",
        "PD007",
        "a byte option of the offload connector cannot be used",
        "卸载连接器的字节数选项不可用",
        "write the number of bytes as an integer, such as 17179869184 for 16 GiB",
        "写整数字节数，例如 17179869184(16 GiB)",
        also="must be a number of bytes",
    ),
    _error(
        "invalid literal for int() with base 10: ",
        "PD007",
        (
            "an option that must be an integer is not one; vllm-ascend's connector reports this for byte options "
            "such as 16GiB"
        ),
        "某个必须为整数的选项不是整数；vllm-ascend 的连接器遇到 16GiB 这样的字节数时如此报错",
        "write the number of bytes as an integer, such as 17179869184 for 16 GiB",
        "写整数字节数，例如 17179869184(16 GiB)",
    ),
    _error(
        "holds no block of ",
        "PD304",
        "the budget does not hold one KV block",
        "预算放不下一个 KV 块",
        "raise cpu_bytes_to_use_per_rank; pd-launch check and the plan show what a block takes",
        "增大 cpu_bytes_to_use_per_rank",
    ),
    _error(
        "kv_connector_extra_config has the unknown option",
        "PD223",
        "the offload connector does not know one of its options",
        "卸载连接器不认识某个选项",
        "correct the name; pd-launch check knows them",
        "改正名字；pd-launch check 认识这些选项",
    ),
    _error(
        "works on nodes that decode",
        "PD105",
        "the offload connector is configured on a prefill node",
        "卸载连接器放在了预填充节点上",
        "remove it there; it belongs on decode nodes, with kv_role kv_consumer",
        "在那里去掉它；它属于解码节点，kv_role 为 kv_consumer",
    ),
    _error(
        "preemption offload works with --",
        "PD210",
        "the offload connector does not support context parallelism",
        "卸载连接器不支持上下文并行",
        "set decode and prefill context parallel sizes to 1 on this side",
        "本侧的上下文并行度设为 1",
    ),
    _error(
        "cannot be offloaded",
        "PD211",
        "this model's KV cache cannot be offloaded",
        "该模型的 KV 缓存不能卸载",
        "serve it without the offload connector; preempted requests are then recomputed",
        "不带卸载连接器运行；被抢占的请求会重新计算",
    ),
    _error(
        "Hybrid models do not support recompute mode kv load failure policy",
        "PD205",
        'a hybrid model does not support kv_load_failure_policy "recompute"',
        "混合模型不支持 kv_load_failure_policy 为 recompute",
        'set kv_load_failure_policy to "fail"',
        "把 kv_load_failure_policy 设为 fail",
    ),
    _error(
        "additional_config.scheduler_config must be a dict",
        "PD007",
        "additional_config.scheduler_config is not an object",
        "additional_config.scheduler_config 不是对象",
        'write {"scheduler_config": {"recompute_scheduler_enable": true}}',
        '写 {"scheduler_config": {"recompute_scheduler_enable": true}}',
    ),
    _error(
        "config has a conflicting",
        "PD207",
        "the sizes in kv_transfer_config differ from this node's own parallel flags",
        "kv_transfer_config 中的规格与本节点的并行参数不一致",
        "make the own side's dp_size and tp_size equal to the flags",
        "让本侧的 dp_size、tp_size 与参数一致",
        also="KV transfer",
    ),
    _error(
        "prefill_tp_size",
        "PD208",
        "the TP sizes of prefill and decode do not match",
        "prefill 与 decode 的 TP 规格不匹配",
        "prefill needs at least decode's TP size, and a multiple of it",
        "prefill 的 TP 不得小于 decode 的 TP，且应为其整数倍",
        also="must be greater than",
    ),
    _error(
        "Insufficient space in /dev/shm",
        "PD306",
        "/dev/shm is too small",
        "/dev/shm 太小",
        "start the container with a larger --shm-size",
        "用更大的 --shm-size 启动容器",
    ),
    _error(
        "ddress already in use",
        "PD407",
        "a port that the engine must bind is taken",
        "引擎要绑定的端口已被占用",
        "choose another port, or end what holds it",
        "换一个端口，或结束占用它的进程",
    ),
    _error(
        "unrecognized arguments: ",
        "PD004",
        "vllm serve does not know an argument",
        "vllm serve 不认识某个参数",
        "run pd-launch check on the command",
        "用 pd-launch check 检查该命令",
    ),
    _error(
        "cannot be converted to",
        "PD001",
        "an argument's JSON cannot be read",
        "某个参数的 JSON 无法解析",
        "run pd-launch check on the command: it shows the place",
        "用 pd-launch check 检查该命令，它会指出位置",
        also="argument --",
    ),
    # Errors of a running engine
    _error("Failed to prepare recompute H2D load after KV block", "PD903", *_LOST),
    _error("H2D block mapping is incomplete", "PD903", *_LOST),
    _error("H2D KV group count mismatch", "PD903", *_LOST),
    _error("H2D produced an empty block range", "PD903", *_LOST),
    _error("Invalid recompute H2D Mamba", "PD903", *_LOST),
    _error("Invalid circular cache", "PD903", *_LOST),
    _error("Invalid Mamba Conv restore range", "PD903", *_LOST),
    _error("No registered Mamba Conv cache tensors for preempt H2D", "PD903", *_LOST),
    _error("Preempt offload cannot determine Mamba state semantics", "PD903", *_LOST),
    _error("Unexpected Ascend Mamba Conv cache shape", "PD903", *_LOST),
    _error("Mamba Conv cache must have one physical row", "PD903", *_LOST),
    _error("Aliased Mamba Conv views must have identical", "PD903", *_LOST),
    _note(
        "pd-launch: refused to start",
        "error",
        "",
        "pd-launch refused to start the engine: the errors are above that line",
        "pd-launch 拒绝启动引擎：错误见该行上方",
        "correct what it reports",
        "按提示修改",
    ),
    # Warnings that matter
    _note(
        "recompute_scheduler_enable is deprecated and ignored because",
        "warning",
        "PD103",
        "recompute_scheduler_enable is given in both places; the nested one takes effect",
        "recompute_scheduler_enable 写了两处，以嵌套的为准",
        "keep the one in scheduler_config",
        "只保留 scheduler_config 里的",
    ),
    _note(
        "recompute_scheduler_enable is ignored on PD-disaggregated P nodes",
        "warning",
        "PD102",
        "recompute_scheduler_enable does nothing on a prefill node",
        "recompute_scheduler_enable 在预填充节点上不起作用",
        "remove it there",
        "在预填充节点上去掉它",
    ),
    _note(
        "Turning off hybrid kv cache manager because",
        "warning",
        "PD211",
        "the hybrid KV cache manager was turned off: a model with several kinds of layers holds more KV than it needs",
        "混合 KV 缓存管理器被关闭，含多种层的模型会占用更多 KV",
        "use connectors that support it, or pass --no-disable-hybrid-kv-cache-manager",
        "使用支持它的连接器，或传入 --no-disable-hybrid-kv-cache-manager",
    ),
    _note(
        "Force freed expired request",
        "warning",
        "PD708",
        "the prefill node dropped KV before the decode node fetched it",
        "预填充节点在解码节点取走之前释放了 KV",
        "raise VLLM_MOONCAKE_ABORT_REQUEST_TIMEOUT, or relieve the decode node",
        "增大 VLLM_MOONCAKE_ABORT_REQUEST_TIMEOUT，或减轻解码节点的负载",
    ),
    _note(
        "Detected prefix caching disabled, disabling CPU offload",
        "warning",
        "PD216",
        "another CPU offload (SimpleCPUOffloadConnector) switched itself off: it needs prefix caching",
        "另一种 CPU 卸载（SimpleCPUOffloadConnector）自行关闭：它需要前缀缓存",
        "it has nothing to do with preempted requests; remove it or enable prefix caching",
        "它与被抢占的请求无关；去掉它，或打开前缀缓存",
    ),
    _note(
        "Failed to reset recompute offload cache",
        "warning",
        "",
        "a reset of the cache was refused while transfers were pending",
        "有传输未完成，缓存重置被拒绝",
        "repeat the reset when no request is parked",
        "在没有暂存请求时重试",
    ),
    _note(
        "Failed to reset preempt offload cache",
        "warning",
        "",
        "a reset of the cache was refused while transfers were pending",
        "有传输未完成，缓存重置被拒绝",
        "repeat the reset when no request is parked",
        "在没有暂存请求时重试",
    ),
    # Warnings that mean nothing
    _note(
        "additional_config.recompute_scheduler_enable is deprecated; use",
        "benign",
        "PD103",
        "the flat recompute_scheduler_enable is deprecated, but still works",
        "平铺的 recompute_scheduler_enable 已弃用，但仍然有效",
        "move it into scheduler_config when you like",
        "方便时移入 scheduler_config",
    ),
    _note(
        "has different num_blocks",
        "benign",
        "",
        "a worker took over the scheduler's number of blocks",
        "worker 采用了调度器的块数",
        *_STATUS_QUO,
    ),
    _note(
        "cpu_bytes_to_use_per_rank (",
        "benign",
        "PD303",
        "the per-rank budget takes effect; if only that one is set, the other side of the comparison is a default",
        "以每 rank 的预算为准；如果只设了它，比较的另一边只是默认值",
        *_STATUS_QUO,
    ),
    _note(
        "Initializing KVConnectorBase_V1. This API is experimental",
        "benign",
        "",
        "vLLM prints this for every connector",
        "vLLM 对每个连接器都这样说",
        *_STATUS_QUO,
    ),
)
