// What the page says, in both languages; findings come from the checker in the language that is asked for.

const many = (count, one, more) => `${count} ${count === 1 ? one : more}`;

/** A range of releases, which JSON gives in English: "vllm-ascend from 0.25.1rc1", "vLLM up to 0.30.0", "vLLM 0.27.1 to 0.30.0". */
function inChinese(text) {
  const [, name, rest] = /^(\S+) ?(.*)$/.exec(text);
  if (rest.startsWith("from ")) return `${name} ${rest.slice(5)} 起`;
  if (rest.startsWith("up to ")) return `${name} ${rest.slice(6)} 及以前`;
  return text.replace(" to ", " 至 ");
}

export const TEXTS = {
  en: {
    intro: "Paste a start script, a manifest or a profile. It is checked here, in this page: nothing is sent anywhere.",
    docs: "Documentation", files: "Files", text: "Text of the file", release: "Release",
    found: "found in the files", example: "Example", open: "Open files…", findings: "Findings",
    drop: "Files can be dropped here, too: both sides of a pair are compared.",
    fix: "Apply certain fixes", fixAll: "Apply all fixes", undo: "Undo", share: "Link to this",
    shared: "The address of this page now holds the files themselves, with every address and token in them, after its #; nothing was sent.",
    json: "As JSON, the same as the command prints", explain: "What this rule is about", help: "Help:", fixThis: "Fix:",
    error: "error", warning: "warning", info: "info", releases: "Releases:", colon: ": ", listComma: ", ", range: (text) => text,
    name: "Name", taken: "Another file has this name.", unnamed: "A file needs a name.",
    steps: ["Step 1 of 4: loading the parts", "Step 2 of 4: starting Python", "Step 3 of 4: starting the checker",
      "Step 4 of 4: reading the releases"],
    meanwhile: "You can paste your files now; they are checked as soon as it has started.",
    lead: (counts) => `${counts} ↓`,
    counts: (errors, warnings, infos) =>
      `${many(errors, "error", "errors")}, ${many(warnings, "warning", "warnings")}, ${infos} info.`,
    checkedFor: (names) => `Checked for ${names}.`,
    nothing: "Nothing to report.", checking: "Checking…", space: " ", comma: ", ",
    late: "This check took too long and was stopped. A smaller part of the files may do.",
    broke: "The checker broke down over these files and was started again. Please report it, with the files if you can.",
    failed: "The checker could not be loaded:", damaged: "this part arrived damaged; load the page again:",
    close: "Close file", title: "pd-launch: check a script in the browser", names: "Open files",
    copied: "Copied. The link holds the files themselves, with every address and token in them, after its #; nothing was sent.",
    long: "It is long, and some programs cut long links.",
    broken: "The link holds no files that can be read; it may have been cut.", licences: "Parts and licences",
  },
  zh: {
    intro: "粘贴启动脚本、清单或配置文件。检查就在本页内进行，内容不会发送到任何地方。",
    docs: "文档", files: "文件", text: "文件内容", release: "版本",
    found: "由文件确定", example: "示例", open: "打开文件…", findings: "检查结果",
    drop: "也可以把文件拖到这里；同时放入 prefill 与 decode 两侧，会一并比较。",
    fix: "应用确定的修复", fixAll: "应用全部修复", undo: "撤销", share: "生成链接",
    shared: "本页地址的 # 之后现已包含这些文件的内容（包括其中的地址和令牌），没有发送到任何地方。",
    json: "JSON（与命令输出相同）", explain: "规则说明", help: "建议：", fixThis: "修复：",
    error: "错误", warning: "警告", info: "提示", releases: "版本：", colon: "：", listComma: "、", range: inChinese,
    name: "文件名", taken: "已有同名文件。", unnamed: "请填写文件名。",
    steps: ["第 1 步（共 4 步）：加载组件", "第 2 步（共 4 步）：启动 Python", "第 3 步（共 4 步）：启动检查器",
      "第 4 步（共 4 步）：读取版本表"],
    meanwhile: "现在就可以粘贴文件，启动完成后会立即检查。",
    lead: (counts) => `${counts} ↓`,
    counts: (errors, warnings, infos) => `${errors} 个错误，${warnings} 个警告，${infos} 个提示。`,
    checkedFor: (names) => `按 ${names} 检查。`,
    nothing: "没有发现问题。", checking: "正在检查…", space: "", comma: "、",
    late: "本次检查耗时过长，已中止。可以只放入其中一部分再试。",
    broke: "检查器处理这些文件时崩溃，已重新启动。请反馈给我们，方便的话附上文件。",
    failed: "检查器加载失败：", damaged: "以下组件不完整，请重新加载页面：",
    close: "关闭文件", title: "pd-launch：在浏览器中检查脚本", names: "已打开的文件",
    copied: "链接已复制。文件内容（包括其中的地址和令牌）都在链接的 # 之后，没有发送到任何地方。",
    long: "链接较长，有些软件会把它截断。",
    broken: "无法从链接中读出文件，链接可能不完整。", licences: "组件与许可证",
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
