"""Why a preempted request was not saved and restored in full: what it means, what to change, and the rule."""

from __future__ import annotations

from pd_launch.schemas.core.msg import Msg

_RAISE = Msg("raise cpu_bytes_to_use_per_rank", "增大 cpu_bytes_to_use_per_rank")
_REPORT = Msg("see the worker's lines about it, and report it", "查看 worker 的相关日志并报告")
_POLICY = Msg(
    "see the worker's lines about it; with kv_load_failure_policy recompute at the top level such a request is "
    "recomputed, with the default (fail) it ends with an error",
    "查看 worker 的相关日志；顶层 kv_load_failure_policy 为 recompute 时请求重新计算，默认（fail）则以错误结束",
)
_NOTHING_TO_DO = Msg("nothing to change", "无需修改")
OTHER = (Msg("{count}×: an unknown reason", "{count} 次：原因未知"), _REPORT, "")
FALLBACKS = {
    "pool_full": (
        Msg(
            "{count}×: the host pool had no room, and the request was recomputed",
            "{count} 次：主机池已满，请求被重新计算",
        ),
        _RAISE,
        "PD304",
    ),
    "partial": (
        Msg("{count}×: only a part fitted into the host pool", "{count} 次：主机池只放得下一部分"),
        _RAISE,
        "PD304",
    ),
    "window": (
        Msg("{count}×: blocks needed by a sliding window were gone", "{count} 次：滑动窗口所需的块已不在"),
        _NOTHING_TO_DO,
        "",
    ),
    "untracked": (
        Msg(
            "{count}×: a request was not tracked because it was in progress during a reset",
            "{count} 次：请求在重置时已在途，未被跟踪",
        ),
        _NOTHING_TO_DO,
        "",
    ),
    "resumable": (
        Msg(
            "{count}×: a streaming request was recomputed: these are not saved",
            "{count} 次：流式请求被重新计算：它们不保存",
        ),
        _NOTHING_TO_DO,
        "",
    ),
    "prompt_pass": (
        Msg(
            "{count}×: a request that needs its whole prompt pass (prompt logprobs, pooling) had not completed it",
            "{count} 次：请求需要完整的提示词计算（prompt logprobs、池化），当时尚未完成",
        ),
        _NOTHING_TO_DO,
        "",
    ),
    "overwritten": (
        Msg(
            "{count}×: the model runner wrote into blocks before they could be saved",
            "{count} 次：model runner 在保存之前写入了这些块",
        ),
        _NOTHING_TO_DO,
        "",
    ),
    "no_worker": (
        Msg(
            "{count}×: no worker of the connector had answered yet, and the request was recomputed",
            "{count} 次：连接器的 worker 尚未响应，请求被重新计算",
        ),
        Msg(
            "if it continues, shut down any engine that ran in the same process before",
            "若持续出现，请关闭同一进程中先前运行的引擎",
        ),
        "",
    ),
    "no_pool": (
        Msg(
            "{count}×: the scheduler shows no block pool whose resets can be watched, and nothing is saved",
            "{count} 次：从调度器看不到块池，无法得知前缀缓存何时重置，因此没有保存",
        ),
        Msg("use vLLM 0.23 or newer, or no custom scheduler", "使用 vLLM 0.23 及以后的版本，或不用自定义调度器"),
        "PD106",
    ),
    "unknown_engine": (
        Msg(
            "{count}×: this vLLM lacks a name that the connector must read, and nothing is saved",
            "{count} 次：这个 vLLM 没有连接器必须读取的字段，什么也不保存",
        ),
        Msg(
            "see the connector's warning for the name, and use a release it was tested with",
            "查看连接器的警告中的字段名，并使用它验证过的版本",
        ),
        "",
    ),
    "save_failed": (Msg("{count}×: a copy to the host failed", "{count} 次：复制到主机失败"), _REPORT, ""),
    "load_failed": (Msg("{count}×: a copy back to the device failed", "{count} 次：复制回设备失败"), _POLICY, "PD221"),
    "raised": (
        Msg(
            "{count}×: the connector raised an error when it was asked to save a request",
            "{count} 次：要求连接器保存请求时，连接器抛出了错误",
        ),
        Msg("see the traceback after that line, and report it", "查看该行之后的错误栈并报告"),
        "",
    ),
    "not_offloaded": (
        Msg(
            "{count}×: the scheduler preempted a request that no connector accepted",
            "{count} 次：调度器抢占的请求没有连接器接收",
        ),
        Msg(
            "check that the offload connector is configured once, as a child of MultiConnector on the decode node",
            "检查解码节点的 MultiConnector 中是否恰好配置了一个卸载连接器",
        ),
        "PD109",
    ),
}
