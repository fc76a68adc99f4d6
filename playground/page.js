// The page: files, findings in place, explanations, fixes, links. The checker itself runs in worker.js.

import {TEXTS, EXAMPLE} from "./texts.js";
import {Checker, load} from "./checker.js";
import {edited, free, guessed, pack, places, unpack, usable} from "./files.js";

const WAIT = 300, SLOW = 600;
const FIRST = "decode.sh", LONG_LINK = 8000;
const $ = (id) => document.getElementById(id);
const state = {files: {[FIRST]: ""}, name: FIRST, lang: "en", target: "", report: {findings: []}, undo: []};
let checker = null, timer = 0, running = false, again = false;

/** From here on the page can ask no server for anything: a second policy can only take away. */
function close() {
  const policy = document.createElement("meta");
  policy.httpEquiv = "Content-Security-Policy";
  policy.content = "default-src 'none'; script-src blob: 'wasm-unsafe-eval'; worker-src blob:; style-src 'self'";
  document.head.append(policy);
}

const words = (...args) => [...args, "--lang", state.lang];
const release = () => (state.target ? ["--target", state.target] : []);
const names = () => Object.keys(state.files);

/** Check what is there now. While a check runs no other is started: one follows, of what is there by then. */
async function check() {
  clearTimeout(timer);
  if (running) {
    again = true;
    return;
  }
  if (!checker || !names().some((name) => state.files[name].trim())) return show({findings: []}, "");
  running = true;
  const slow = setTimeout(() => { $("summary").textContent = TEXTS[state.lang].checking; }, SLOW);
  const args = words("check", ...names(), "--format", "json", ...release());
  const {out, err, stopped} = await checker.run(args, {...state.files});
  clearTimeout(slow);
  running = false;
  if (again) {
    again = false;
    return check();
  }
  return out.startsWith("{") ? show(JSON.parse(out), out) : show({findings: [], err: TEXTS[state.lang][stopped] ?? err.trim()}, "");
}

function soon() {
  clearTimeout(timer);
  timer = setTimeout(check, WAIT);
}

function show(report, raw) {
  const t = TEXTS[state.lang], {findings, summary, targets, err} = report;
  state.report = report;
  $("json").textContent = raw;
  $("raw").hidden = !raw;
  $("findings").replaceChildren(...findings.map(item));
  const seen = [...new Set(targets?.flatMap((one) => one.looked_at) ?? [])];
  const counts = summary && (findings.length ? t.counts(summary.error, summary.warning, summary.info) : t.nothing);
  $("summary").textContent = err ?? [counts, seen.length ? t.checkedFor(seen.join(t.comma)) : ""].filter(Boolean).join(t.space);
  const fixes = findings.map((one) => one.fix).filter(Boolean);
  $("fix").disabled = !fixes.some((fix) => fix.safe);
  $("fix-all").disabled = !fixes.length;
  document.body.dataset.round = String(Number(document.body.dataset.round ?? 0) + 1);
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
    button.className = "one-fix";
    button.addEventListener("click", () => change(edited(state.files, finding.fix.edits)));
  }
  const more = add(li, "details");
  add(more, "summary", t.explain);
  more.addEventListener("toggle", async () => {
    if (!more.open || more.children.length > 1) return;
    const page = add(more, "pre");
    page.tabIndex = 0;
    page.textContent = (await checker.run(words("explain", finding.code), {})).out;
  });
  return li;
}

function add(parent, kind, text = "") {
  const made = document.createElement(kind);
  made.textContent = text;
  parent.append(made);
  return made;
}

/** Write what the command would write. */
async function fix(...more) {
  const before = {...state.files};
  const {files} = await checker.run(words("check", ...names(), "--fix", ...more, ...release()), before);
  const typed = names().some((name) => state.files[name] !== before[name]);  // while it was written: what was typed stays
  return typed ? check() : change(files);
}

async function change(files) {
  if (names().some((name) => files[name] !== state.files[name])) state.undo.push(state.files);
  state.files = files;
  fill();
  ($("undo").disabled ? $("text") : $("undo")).focus();
  await check();
}

function go(finding) {
  if (finding.file in state.files) choose(finding.file);
  const text = $("text"), at = places(text.value), start = at(finding.line, finding.column);
  text.focus();
  text.setSelectionRange(start, Math.max(start, at(finding.end_line, finding.end_column)));
  text.scrollTop = Math.max(0, (finding.line - 4) * parseFloat(getComputedStyle(text).lineHeight));
  text.scrollIntoView({block: "nearest"});
}

function paint() {
  const value = $("text").value, at = places(value), spans = [];
  for (const one of state.report.findings) {
    if (one.file !== state.name) continue;
    const start = at(one.line, one.column), end = at(one.end_line, one.end_column);
    spans.push([start, Math.max(end, start + 1), one.severity]);
  }
  spans.sort((a, b) => a[0] - b[0]);
  const parts = [];
  let done = 0;
  for (const [start, end, severity] of spans) {
    if (start < done) continue;
    parts.push(value.slice(done, start));
    const mark = document.createElement("mark");
    mark.className = severity;
    mark.textContent = value.slice(start, end);
    parts.push(mark);
    done = end;
  }
  $("marks").replaceChildren(...parts, `${value.slice(done)}\n`);
  $("numbers").textContent = value.split("\n").map((_, index) => index + 1).join("\n");
  follow();
}

function follow() {
  const {scrollTop, scrollLeft} = $("text");
  $("marks").scrollTop = $("numbers").scrollTop = scrollTop;
  $("marks").scrollLeft = scrollLeft;
}

function fill() {
  if (!Object.hasOwn(state.files, state.name)) state.name = names()[0] ?? FIRST;
  $("text").value = state.files[state.name] ?? "";
  $("undo").disabled = !state.undo.length;
  $("close").disabled = names().length < 2 && !$("text").value;
  tabs();
  paint();
}

function tabs() {
  const inside = $("tabs").contains(document.activeElement);
  $("tabs").replaceChildren(...names().map((name) => {
    const tab = document.createElement("button");
    tab.type = "button";
    tab.ariaPressed = String(name === state.name);
    tab.textContent = name;
    tab.addEventListener("click", () => choose(name));
    return tab;
  }));
  if (inside) $("tabs").querySelector("[aria-pressed=true]")?.focus();
}

function choose(name) {
  state.name = name;
  fill();
}

function replace(files, name = "") {
  state.files = files;
  state.name = name;
  state.undo = [];
  fill();
  return check();
}

/** Add files to those that are there; none takes the place of another, and the example goes. */
async function take(list) {
  const shown = {...state.files};
  const ours = Object.entries(EXAMPLE).every(([name, text]) => shown[name] === text) && names().length === Object.keys(EXAMPLE).length;
  const files = ours || !names().some((name) => shown[name].trim()) ? {} : shown;
  let last = "";
  for (const file of list) {
    const text = await file.text();
    const name = usable(file.webkitRelativePath || file.name);
    if (files[name] === text) continue;
    last = free(name, files);
    files[last] = text;
  }
  if (last) await replace(files, last);
}

function translate() {
  const t = TEXTS[state.lang];
  document.documentElement.lang = state.lang === "zh" ? "zh-CN" : "en";
  for (const one of document.querySelectorAll("[data-text]")) one.textContent = t[one.dataset.text];
  for (const one of document.querySelectorAll("[data-label]")) one.setAttribute("aria-label", t[one.dataset.label]);
  $("language").textContent = state.lang === "zh" ? "English" : "中文";
  $("language").lang = state.lang === "zh" ? "en" : "zh";
  $("docs").href = state.lang === "zh" ? "../zh/guide/playground/" : "../guide/playground/";
  document.title = t.title;
}

/** What a link holds; false where it holds nothing that can be read. */
async function restore() {
  try {
    const {files, target, lang} = await unpack(location.hash.slice(1));
    const kept = {};
    for (const [name, text] of Object.entries(files)) if (typeof text === "string") kept[free(usable(name), kept)] = text;
    if (!Object.keys(kept).length) return false;
    state.files = kept;
    state.target = typeof target === "string" ? target : "";
    if (Object.hasOwn(TEXTS, lang)) state.lang = lang;
    return true;
  } catch {
    return false;
  }
}

/** Put the files into the address, behind its #, which no browser sends to a server. */
async function share() {
  const t = TEXTS[state.lang];
  history.replaceState(null, "", `#${await pack({files: state.files, target: state.target, lang: state.lang})}`);
  const copied = await navigator.clipboard?.writeText(location.href).then(() => true, () => false);
  const said = [copied ? t.copied : t.shared, location.href.length > LONG_LINK ? t.long : ""];
  $("summary").textContent = said.filter(Boolean).join(t.space);
}

async function releases() {
  const known = JSON.parse((await checker.run(["releases", "--format", "json"], {})).out);
  for (const [family, prefix] of [["vllm_ascend", "vllm-ascend"], ["vllm", "vllm"]]) {
    for (const {release: number} of known[family].toReversed()) $("target").add(new Option(`${prefix} ${number}`, `${prefix}==${number}`));
  }
  $("target").value = state.target;
  if (!$("target").value) $("target").value = state.target = "";  // a link may name what this version does not know
}

$("text").addEventListener("input", () => {
  const before = state.files[state.name] ?? "", typed = $("text").value;
  if (!before && state.name === FIRST && names().length < 2) {
    state.name = guessed(typed, FIRST);
    state.files = {};
  }
  state.files = {...state.files, [state.name]: before.includes("\r\n") ? typed.replaceAll("\n", "\r\n") : typed};
  state.undo = [];  // what is typed from here on belongs to no fix
  state.report = {findings: []};
  $("undo").disabled = true;
  $("close").disabled = false;
  tabs();
  paint();
  soon();
});
$("text").addEventListener("scroll", follow);
$("target").addEventListener("change", () => { state.target = $("target").value; check(); });
$("example").addEventListener("click", () => replace({...EXAMPLE}));
$("open").addEventListener("click", () => $("chosen").click());
$("chosen").addEventListener("change", async () => { await take([...$("chosen").files]); $("chosen").value = ""; });
$("close").addEventListener("click", () => {
  const left = Object.fromEntries(Object.entries(state.files).filter(([name]) => name !== state.name));
  replace(Object.keys(left).length ? left : {[FIRST]: ""});
  $("text").focus();
});
$("fix").addEventListener("click", () => fix());
$("fix-all").addEventListener("click", () => fix("--unsafe-fixes"));
$("undo").addEventListener("click", () => {
  state.files = state.undo.pop() ?? state.files;
  fill();
  if ($("undo").disabled) $("text").focus();
  check();
});
$("share").addEventListener("click", share);
$("language").addEventListener("click", () => { state.lang = state.lang === "zh" ? "en" : "zh"; translate(); check(); });
for (const kind of ["dragover", "dragleave", "drop"]) {
  $("editor").addEventListener(kind, (event) => {
    event.preventDefault();
    $("editor").classList.toggle("over", kind === "dragover");
    if (kind === "drop") take([...event.dataTransfer.files]);
  });
}
addEventListener("hashchange", async () => {
  if (location.hash.length < 2) return;
  const restored = await restore();
  translate();
  if (!restored) $("summary").textContent = TEXTS[state.lang].broken;
  else await replace(state.files);
});

async function begin() {
  state.lang = navigator.language?.startsWith("zh") ? "zh" : "en";
  const broken = !(await restore()) && location.hash.length > 1;
  translate();
  fill();
  try {
    navigator.serviceWorker?.register("offline.js").catch(() => undefined);
    const loaded = await load((have, whole) => {
      $("progress").value = have / whole;
      $("loaded").textContent = `${Math.round(have / 1e6)} / ${Math.round(whole / 1e6)} MB`;
    });
    close();
    checker = new Checker(loaded);
    document.body.dataset.version = await checker.ready;
    await releases();
    $("loading").hidden = true;
    await check();
    if (broken) $("summary").textContent = TEXTS[state.lang].broken;
  } catch (error) {
    $("loading").hidden = true;
    $("failed").textContent = `${TEXTS[state.lang].failed} ${TEXTS[state.lang][error.cause] ?? ""} ${error.message}`;
  }
}

begin();
