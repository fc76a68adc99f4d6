// What the page says, in both languages; findings come from the checker in the language that is asked for.

const many = (count, one, more) => `${count} ${count === 1 ? one : more}`;

export const TEXTS = {
  en: {
    intro: "Paste a start script, a manifest or a profile. It is checked here, in this page: nothing is sent anywhere.",
    docs: "Documentation", loading: "Loading the checker", files: "Files", text: "Text of the file", release: "Release",
    found: "found in the files", example: "Example", open: "Open files…", findings: "Findings",
    drop: "Files can be dropped here, too: both sides of a pair are compared.",
    fix: "Apply certain fixes", fixAll: "Apply all fixes", undo: "Undo", share: "Link to this",
    shared: "The address of this page now holds the files. It was copied, and sent nowhere.",
    json: "As JSON, the same as the command prints", explain: "What this rule is about", help: "Help:", fixThis: "Fix:",
    error: "error", warning: "warning", info: "info",
    counts: (errors, warnings, infos) =>
      `${many(errors, "error", "errors")}, ${many(warnings, "warning", "warnings")}, ${infos} info.`,
    checkedFor: (names) => `Checked for ${names}.`,
    late: "This check took too long and was stopped.", failed: "The checker could not be loaded:",
  },
  zh: {
    intro: "粘贴启动脚本、清单或 profile。检查就在本页内进行，内容不会发送到任何地方。",
    docs: "文档", loading: "正在加载检查器", files: "文件", text: "文件内容", release: "版本",
    found: "由文件确定", example: "示例", open: "打开文件…", findings: "检查结果",
    drop: "也可以把文件拖到这里；同时放入 prefill 与 decode 两侧，会一并比较。",
    fix: "应用确定的修复", fixAll: "应用全部修复", undo: "撤销", share: "生成链接",
    shared: "本页地址现已包含这些文件，并已复制；没有发送到任何地方。",
    json: "JSON（与命令输出相同）", explain: "规则说明", help: "建议：", fixThis: "修复：",
    error: "错误", warning: "警告", info: "提示",
    counts: (errors, warnings, infos) => `${errors} 个错误，${warnings} 个警告，${infos} 个提示。`,
    checkedFor: (names) => `按 ${names} 检查。`,
    late: "本次检查耗时过长，已中止。", failed: "检查器加载失败：",
  },
};

export const EXAMPLE = {
  "decode.sh": `#!/bin/bash
# pd-launch: target vllm-ascend==0.30.0rc2
export HCCL_IF_IP=192.0.2.11
vllm serve /models/deepseek-v3.1-w8a8 \\
  --port 8100 \\
  --tensor-parallel-size 8 \\
  --data-parallel-size 2 \\
  --additional-config '{"recompute_scheduler_enable": true}' \\
  --kv-transfer-config '{"kv_connector": "MooncakeConnectorV1", "kv_role": "kv_consumr", "kv_port": "30100"}'
`,
};
