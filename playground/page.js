// The page: files, findings in place, explanations, fixes, links. The checker itself runs in worker.js.

import {TEXTS, EXAMPLE} from "./texts.js";
import {Checker, load} from "./checker.js";
import {card} from "./cards.js";
import {keep, preferred} from "./language.js";
import {mark, spot} from "./marks.js";
import {edited, free, guessed, pack, places, unpack, usable} from "./files.js";

const WAIT = 300, SLOW = 600;
const FIRST = "decode.sh", LONG_LINK = 8000;
const STEPS = ["parts", "python", "checker", "releases"];
const $ = (id) => document.getElementById(id);
const state = {files: {[FIRST]: ""}, name: FIRST, lang: "en", target: "", report: {findings: []}, undo: [], step: STEPS[0]};
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
  const slow = setTimeout(() => summarise(TEXTS[state.lang].checking), SLOW);
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

/** Say what was found; on a small screen it also stays at the foot of the text, and leads to the findings. */
function summarise(text, short = text) {
  $("summary").textContent = text;
  $("lead").textContent = TEXTS[state.lang].lead(short || text);
  $("lead").hidden = !text;
}

/** What is said of a link: not in place of the summary, and no longer than it is true. */
function tell(text = "") {
  $("told").textContent = text;
}

function show(report, raw) {
  const t = TEXTS[state.lang], {findings, summary, targets, err} = report;
  state.report = report;
  $("json").textContent = raw;
  $("raw").hidden = !raw;
  $("findings").replaceChildren(...findings.map((one) => card(one, targets, t, DOES)));
  const seen = [...new Set(targets?.flatMap((one) => one.looked_at) ?? [])];
  const counts = summary && (findings.length ? t.counts(summary.error, summary.warning, summary.info) : t.nothing);
  summarise(err ?? [counts, seen.length ? t.checkedFor(seen.join(t.comma)) : ""].filter(Boolean).join(t.space), counts);
  const fixes = findings.map((one) => one.fix).filter(Boolean);
  $("fix").disabled = !fixes.some((fix) => fix.safe);
  $("fix-all").disabled = !fixes.length;
  document.body.dataset.round = String(Number(document.body.dataset.round ?? 0) + 1);
  paint();
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

const DOES = {
  go,
  apply: (fix) => change(edited(state.files, fix.edits)),
  explain: async (code) => (await checker.run(words("explain", code), {})).out,
};

/** Show a place and select it: its line, and the column too where the line is longer than the window. */
function go(place) {
  if (place.file in state.files) choose(place.file);
  const text = $("text"), at = places(text.value), start = at(place.line, place.column);
  const end = Math.max(start, at(place.end_line ?? place.line, place.end_column ?? place.column));
  text.focus();
  text.setSelectionRange(start, end);
  const from = spot($("marks"), start), to = spot($("marks"), end), middle = (text.clientHeight - from.height) / 2;
  text.scrollTop = Math.max(0, from.top - middle);
  text.scrollLeft = to.left < text.clientWidth - from.height ? 0 : Math.max(0, from.left - text.clientWidth / 4);
  follow();
  $("editor").scrollIntoView({block: "nearest"});
}

function paint() {
  const value = $("text").value;
  mark($("marks"), value, state.report.findings.filter((one) => one.file === state.name));
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
  entitle();
  tabs();
  paint();
}

function entitle() {
  $("name").value = state.name;
  $("name").setCustomValidity("");
}

/** Give the file that is shown another name; one that another file has is refused, beside the field. */
function rename() {
  const t = TEXTS[state.lang], typed = $("name").value.trim(), name = usable(typed);
  if (name === state.name) return entitle();
  const others = Object.fromEntries(Object.entries(state.files).filter(([known]) => known !== state.name));
  const refused = !typed ? t.unnamed : free(name, others) !== name ? t.taken : "";
  $("name").setCustomValidity(refused);
  if (refused) return $("name").reportValidity();
  state.files = Object.fromEntries(Object.entries(state.files).map(([known, text]) => [known === state.name ? name : known, text]));
  state.name = name;
  state.undo = [];  // what could be undone has the old name
  tell();
  fill();
  return check();
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
  $("tabs").hidden = names().length < 2;
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
  tell();
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
  stepped();
}

/** What a link holds; false where it holds nothing that can be read. */
async function restore() {
  try {
    const {files, target} = await unpack(location.hash.slice(1));
    const kept = {};
    for (const [name, text] of Object.entries(files)) if (typeof text === "string") kept[free(usable(name), kept)] = text;
    if (!Object.keys(kept).length) return false;
    state.files = kept;
    state.target = typeof target === "string" ? target : "";
    return true;
  } catch {
    return false;
  }
}

/** Put the files into the address, behind its #, which no browser sends to a server. The language is the reader's own choice. */
async function share() {
  const t = TEXTS[state.lang];
  history.replaceState(null, "", `${location.pathname}#${await pack({files: state.files, target: state.target})}`);
  const copied = await navigator.clipboard?.writeText(location.href).then(() => true, () => false);
  const said = [copied ? t.copied : t.shared, location.href.length > LONG_LINK ? t.long : ""];
  tell(said.filter(Boolean).join(t.space));
}

function prefer(lang) {
  state.lang = lang;
  keep(lang);
  tell();
  translate();
  return check();
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
  tell();
  entitle();
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
$("name").addEventListener("input", () => $("name").setCustomValidity(""));
$("name").addEventListener("change", rename);
$("lead").addEventListener("click", () => { $("findings-title").scrollIntoView(); $("findings-title").focus({preventScroll: true}); });
$("language").addEventListener("click", () => prefer(state.lang === "zh" ? "en" : "zh"));
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
  if (!restored) tell(TEXTS[state.lang].broken);
  else await replace(state.files);
});

/** Say which step of the loading is under way; after the parts, how long a step takes is not known. */
function stepped(step = state.step) {
  const t = TEXTS[state.lang];
  state.step = step;
  $("step").textContent = t.steps[STEPS.indexOf(step)];
  if (step === STEPS[0]) return;
  $("progress").removeAttribute("value");
  $("loaded").textContent = t.meanwhile;
}

async function begin() {
  state.lang = preferred();
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
    stepped("python");
    checker = new Checker(loaded, stepped);
    document.body.dataset.version = await checker.ready;
    stepped("releases");
    await releases();
    $("loading").hidden = true;
    await check();
    if (broken) tell(TEXTS[state.lang].broken);
  } catch (error) {
    $("loading").hidden = true;
    $("failed").textContent = `${TEXTS[state.lang].failed} ${TEXTS[state.lang][error.cause] ?? ""} ${error.message}`;
  }
}

begin();
