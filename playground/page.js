// The page: files, findings in place, explanations, fixes, links. The checker itself runs in worker.js.

import {TEXTS, EXAMPLE} from "./texts.js";

const WAIT = 300, LONGEST = 90_000;
const $ = (id) => document.getElementById(id);
const state = {files: {}, name: "", lang: "en", target: "", findings: [], undo: []};
let checker = null, timer = 0, round = 0;

/** The checker in its worker: `run` answers with what the command prints. A worker that hangs is replaced. */
class Checker {
  constructor(loaded) {
    this.loaded = loaded;
    this.waiting = new Map();
    this.next = 0;
    this.start();
  }

  start() {
    const code = URL.createObjectURL(new Blob([this.loaded.worker], {type: "text/javascript"}));
    this.worker = new Worker(code, {type: "module"});
    this.ready = new Promise((resolve, reject) => {
      this.worker.onerror = (event) => reject(new Error(event.message ?? "the worker did not start"));
      this.worker.onmessage = ({data}) => {
        if (data.ready) resolve(data.ready);
        else this.waiting.get(data.id)?.(data);
        this.waiting.delete(data.id);
      };
    });
    const {parts, tree, program} = this.loaded;
    this.worker.postMessage({parts, tree, program});
  }

  async run(args, files) {
    await this.ready;
    const id = ++this.next;
    return new Promise((resolve) => {
      const late = setTimeout(() => {
        this.worker.terminate();
        for (const answer of this.waiting.values()) answer({status: 70, out: "", err: TEXTS[state.lang].late, files});
        this.waiting.clear();
        this.start();
      }, LONGEST);
      this.waiting.set(id, (answer) => { clearTimeout(late); resolve(answer); });
      this.worker.postMessage({id, args, files});
    });
  }
}

async function load() {
  const listed = await (await fetch("parts.json")).json();
  const whole = Object.values(listed).reduce((sum, [size]) => sum + size, 0);
  let loaded = 0;
  const part = async (name) => {
    const answer = await fetch(`parts/${name}`);
    if (!answer.ok) throw new Error(`${name}: ${answer.status}`);
    const chunks = [], reader = answer.body.getReader();
    for (let read; !(read = await reader.read()).done;) {
      chunks.push(read.value);
      loaded += read.value.length;
      $("progress").value = loaded / whole;
      $("loaded").textContent = `${Math.round(loaded / 1e6)} / ${Math.round(whole / 1e6)} MB`;
    }
    return [name, await new Blob(chunks).arrayBuffer()];
  };
  const text = async (name) => (await fetch(name)).text();
  const [worker, tree, program, ...parts] = await Promise.all(
    [text("worker.js"), text("tree.js"), text("run.py"), ...Object.keys(listed).map(part)]);
  return {worker, tree, program, parts: Object.fromEntries(parts)};
}

/** From here on the page can ask no server for anything: a second policy can only take away. */
function close() {
  const policy = document.createElement("meta");
  policy.httpEquiv = "Content-Security-Policy";
  policy.content = "connect-src 'none'; img-src 'none'; font-src 'none'; frame-src 'none'; media-src 'none'";
  document.head.append(policy);
}

const words = (...args) => [...args, "--lang", state.lang];
const release = () => (state.target ? ["--target", state.target] : []);
const names = () => Object.keys(state.files);

async function check() {
  const mine = ++round;
  if (!checker || !names().some((name) => state.files[name].trim())) return show({findings: [], summary: null}, "");
  const {status, out, err} = await checker.run(words("check", ...names(), "--format", "json", ...release()), state.files);
  if (mine !== round) return undefined;
  return out.startsWith("{") ? show(JSON.parse(out), out, status) : show({findings: [], summary: null, err}, "", status);
}

function soon() {
  clearTimeout(timer);
  timer = setTimeout(check, WAIT);
}

function show(report, raw) {
  const t = TEXTS[state.lang];
  state.findings = report.findings;
  $("json").textContent = raw;
  $("findings").replaceChildren(...report.findings.map(item));
  const counts = report.summary;
  const seen = report.targets?.flatMap((one) => one.looked_at) ?? [];
  $("summary").textContent = report.err ?? (counts
    ? `${t.counts(counts.error, counts.warning, counts.info)}${seen.length ? ` ${t.checkedFor([...new Set(seen)].join(", "))}` : ""}` : "");
  const fixes = report.findings.map((one) => one.fix).filter(Boolean);
  $("fix").disabled = !fixes.some((fix) => fix.safe);
  $("fix-all").disabled = !fixes.length;
  document.body.dataset.round = String(round);
  paint();
}

function item(finding) {
  const t = TEXTS[state.lang], li = document.createElement("li");
  li.className = finding.severity;
  const line = add(li, "p");
  add(line, "span", `${t[finding.severity]} ${finding.code} `).className = "severity";
  add(line, "span", finding.message);
  const place = add(add(li, "p"), "button", `${finding.file}:${finding.line}:${finding.column}`);
  place.type = "button";
  place.className = "place";
  place.addEventListener("click", () => go(finding));
  add(li, "p", finding.why).className = "why";
  if (finding.help) add(li, "p", `${t.help} ${finding.help}`);
  if (finding.fix) {
    const button = add(li, "button", `${t.fixThis} ${finding.fix.message}`);
    button.type = "button";
    button.addEventListener("click", () => fix(["--unsafe-fixes", "--select", finding.code]));
  }
  const more = add(li, "details");
  add(more, "summary", t.explain);
  more.addEventListener("toggle", async () => {
    if (more.open && more.children.length === 1) add(more, "pre", (await checker.run(words("explain", finding.code), {})).out).tabIndex = 0;
  });
  return li;
}

function add(parent, kind, text = "") {
  const made = document.createElement(kind);
  made.textContent = text;
  parent.append(made);
  return made;
}

async function fix(more) {
  const before = {...state.files};
  const {files} = await checker.run(words("check", ...names(), "--fix", ...more, ...release()), state.files);
  if (names().some((name) => files[name] !== before[name])) state.undo.push(before);
  state.files = files;
  $("undo").disabled = !state.undo.length;
  fill();
  await check();
}

// Lines and columns count characters; the textarea counts units of UTF-16.
function offset(text, line, column) {
  const rows = text.split("\n");
  const before = rows.slice(0, line - 1).reduce((sum, row) => sum + row.length + 1, 0);
  return before + [...(rows[line - 1] ?? "")].slice(0, column - 1).join("").length;
}

function go(finding) {
  if (finding.file in state.files) choose(finding.file);
  const text = $("text"), start = offset(text.value, finding.line, finding.column);
  text.focus();
  text.setSelectionRange(start, Math.max(start, offset(text.value, finding.end_line, finding.end_column)));
  text.scrollTop = Math.max(0, (finding.line - 4) * 20);
}

function paint() {
  const value = $("text").value, spans = [];
  for (const one of state.findings) {
    if (one.file !== state.name) continue;
    const start = offset(value, one.line, one.column), end = offset(value, one.end_line, one.end_column);
    spans.push([start, Math.max(end, start + 1), one.severity]);
  }
  spans.sort((a, b) => a[0] - b[0]);
  const parts = [];
  let at = 0;
  for (const [start, end, severity] of spans) {
    if (start < at) continue;
    parts.push(value.slice(at, start));
    const mark = document.createElement("mark");
    mark.className = severity;
    mark.textContent = value.slice(start, end);
    parts.push(mark);
    at = end;
  }
  $("marks").replaceChildren(...parts, `${value.slice(at)}\n`);
  $("numbers").textContent = value.split("\n").map((_, index) => index + 1).join("\n");
  follow();
}

function follow() {
  const {scrollTop, scrollLeft} = $("text");
  $("marks").scrollTop = $("numbers").scrollTop = scrollTop;
  $("marks").scrollLeft = scrollLeft;
}

function fill() {
  if (!(state.name in state.files)) state.name = names()[0] ?? "";
  $("text").value = state.files[state.name] ?? "";
  $("tabs").replaceChildren(...names().map((name) => {
    const tab = document.createElement("button");
    tab.type = "button";
    tab.role = "tab";
    tab.ariaSelected = String(name === state.name);
    tab.textContent = name;
    tab.addEventListener("click", () => choose(name));
    return tab;
  }));
  paint();
}

function choose(name) {
  state.name = name;
  fill();
}

async function take(list) {
  const files = {};
  for (const file of list) files[file.webkitRelativePath || file.name] = await file.text();
  if (!Object.keys(files).length) return;
  state.files = files;
  state.undo = [];
  fill();
  await check();
}

function translate() {
  const t = TEXTS[state.lang];
  document.documentElement.lang = state.lang === "zh" ? "zh-CN" : "en";
  for (const one of document.querySelectorAll("[data-text]")) one.textContent = t[one.dataset.text];
  for (const one of document.querySelectorAll("[data-label]")) one.setAttribute("aria-label", t[one.dataset.label]);
  $("language").textContent = state.lang === "zh" ? "English" : "中文";
  $("language").lang = state.lang === "zh" ? "en" : "zh";
}

// A link holds everything behind its #, which no browser sends to a server.
async function pack(value) {
  const stream = new Blob([JSON.stringify(value)]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join("")).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

async function unpack(text) {
  const bytes = Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (sign) => sign.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return JSON.parse(await new Response(stream).text());
}

async function restore() {
  try {
    const {files, target, lang} = await unpack(location.hash.slice(1));
    const texts = Object.entries(files).filter(([name, text]) => typeof text === "string" && !/(^\/)|(^|\/)\.\.(\/|$)/.test(name));
    state.files = Object.fromEntries(texts);
    state.target = typeof target === "string" ? target : "";
    if (lang in TEXTS) state.lang = lang;
  } catch {
    state.files = {"decode.sh": ""};
  }
}

async function releases() {
  const known = JSON.parse((await checker.run(["releases", "--format", "json"], {})).out);
  for (const [family, prefix] of [["vllm_ascend", "vllm-ascend"], ["vllm", "vllm"]]) {
    for (const {release: number} of known[family].toReversed()) $("target").add(new Option(`${prefix} ${number}`, `${prefix}==${number}`));
  }
  $("target").value = state.target;
}

$("text").addEventListener("input", () => {
  state.files[state.name || (state.name = "decode.sh")] = $("text").value;
  state.findings = [];
  paint();
  soon();
});
$("text").addEventListener("scroll", follow);
$("target").addEventListener("change", () => { state.target = $("target").value; check(); });
$("example").addEventListener("click", () => { state.files = {...EXAMPLE}; state.name = ""; state.undo = []; fill(); check(); });
$("open").addEventListener("click", () => $("chosen").click());
$("chosen").addEventListener("change", () => take($("chosen").files));
$("fix").addEventListener("click", () => fix([]));
$("fix-all").addEventListener("click", () => fix(["--unsafe-fixes"]));
$("undo").addEventListener("click", () => {
  state.files = state.undo.pop() ?? state.files;
  $("undo").disabled = !state.undo.length;
  fill();
  check();
});
$("share").addEventListener("click", async () => {
  location.hash = await pack({files: state.files, target: state.target, lang: state.lang});
  await navigator.clipboard?.writeText(location.href).catch(() => undefined);
  $("summary").textContent = TEXTS[state.lang].shared;
});
$("language").addEventListener("click", () => { state.lang = state.lang === "zh" ? "en" : "zh"; translate(); check(); });
for (const kind of ["dragover", "dragleave", "drop"]) {
  $("editor").addEventListener(kind, (event) => {
    event.preventDefault();
    $("editor").classList.toggle("over", kind === "dragover");
    if (kind === "drop") take(event.dataTransfer.files);
  });
}
addEventListener("hashchange", async () => { if (location.hash) { await restore(); translate(); fill(); await check(); } });

async function begin() {
  state.lang = navigator.language?.startsWith("zh") ? "zh" : "en";
  await restore();
  translate();
  fill();
  try {
    const offline = await navigator.serviceWorker?.register("offline.js").catch(() => undefined);
    const loaded = await load();
    offline?.active?.postMessage("new parts");
    close();
    checker = new Checker(loaded);
    document.body.dataset.version = await checker.ready;
    await releases();
    $("loading").hidden = true;
    await check();
  } catch (error) {
    $("loading").textContent = `${TEXTS[state.lang].failed} ${error.message}`;
  }
}

begin();
