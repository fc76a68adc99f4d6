// Drives Chromium over the built playground and writes what was seen as one JSON object.
//   node browser.mjs FOLDER_OF_SITE CHROMIUM PYTHON PORT SHOTS EXPLANATIONS
// EXPLANATIONS is a JSON file with texts, of which the elements are given back that the page makes of each.

import {spawn} from "node:child_process";
import {readFile} from "node:fs/promises";
import {createRequire} from "node:module";
import puppeteer from "puppeteer-core";

const [site, chromium, python, port, shots, explanations] = process.argv.slice(2);
const address = `http://127.0.0.1:${port}/playground/`;
const axe = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf-8");
const seen = {faults: []};
const transfer = `--kv-transfer-config '{"kv_connector": "NixlConnector", "kv_role": "kv_consumr"}'`;
const LONG = `${"# 第一行\n".repeat(60)}# pd-launch: target vllm==0.32.0\nvllm serve /m --port 8100 ${"--served-model-name\t模型 ".repeat(12)} ${transfer}\n`;
const UNDECIDED = `vllm serve m --additional-config '{"recompute_scheduler_enable": true}' ${transfer.replace("Nixl", "Mooncake")}\n`;
const server = spawn(python, ["-m", "http.server", port, "--bind", "127.0.0.1", "--directory", site], {stdio: "ignore"});
const browser = await puppeteer.launch({executablePath: chromium, args: ["--no-sandbox"], protocolTimeout: 300_000});

async function open(place = address, viewport = {width: 1280, height: 1000}) {
  const page = await browser.newPage();
  await page.setViewport(viewport);
  page.asked = [];
  await page.evaluateOnNewDocument(() => {
    globalThis.said = [];
    new MutationObserver(() => {
      const step = document.getElementById("step")?.textContent;
      if (step && said.at(-1) !== step) said.push(step);
    }).observe(document, {subtree: true, childList: true, characterData: true});
  });
  page.on("request", (request) => page.asked.push(request.url()));
  page.on("pageerror", (error) => seen.faults.push(String(error)));
  for (let tries = 0; ; tries++) {
    try { await page.goto(place); break; } catch (error) { if (tries > 20) throw error; await wait(250); }
  }
  await page.waitForFunction(() => document.body.dataset.version || document.getElementById("failed").textContent, {timeout: 240_000});
  await page.waitForFunction(() => document.body.dataset.round, {timeout: 60_000});
  return page;
}
const wait = (time) => new Promise((resolve) => setTimeout(resolve, time));
const put = (page, typed) => page.$eval("#text", (one, typed) => {
  one.value = typed;
  one.dispatchEvent(new Event("input"));
}, typed);
const text = (page, id) => page.$eval(id, (one) => one.textContent);
const value = (page) => page.$eval("#text", (one) => one.value);

/** Do something and wait until what it starts has been checked. */
async function after(page, action) {
  const round = await page.evaluate(() => document.body.dataset.round);
  await action();
  await page.waitForFunction((before) => document.body.dataset.round !== before, {timeout: 120_000}, round);
}

async function violations(page, scheme) {
  await page.emulateMediaFeatures([{name: "prefers-color-scheme", value: scheme}]);
  return page.evaluate(async (code) => {
    if (!globalThis.axe) (0, eval)(code);
    return (await axe.run()).violations.map((one) => `${one.id}: ${one.nodes.map((node) => node.target).join(" ")}`);
  }, axe).catch(() => undefined);
}

try {
  const page = await open();
  seen.version = await page.evaluate(() => document.body.dataset.version);
  seen.steps = await page.evaluate(() => said);
  const before = page.asked.length;
  await after(page, () => page.click("#example"));
  seen.example = {json: await text(page, "#json"), text: await value(page), findings: (await page.$$("#findings > li")).length};
  await page.click("#findings details summary");
  await page.waitForSelector("#findings .explanation h4");
  await after(page, () => page.click("#language"));
  seen.chinese = {json: await text(page, "#json"), lang: await page.$eval("html", (one) => one.lang)};
  await after(page, () => page.click("#language"));
  await after(page, () => page.click("#fix-all"));
  seen.fixed = await value(page);
  await after(page, () => page.click("#undo"));
  seen.undone = await value(page);
  await after(page, () => page.click(".one-fix"));
  seen.one = await value(page);
  await after(page, () => page.click("#undo"));
  const summary = await text(page, "#summary");
  await page.click("#share");
  await page.waitForFunction(() => document.getElementById("told").textContent);
  seen.shared = {told: await text(page, "#told"), summary: [summary, await text(page, "#summary")]};
  const link = page.url();
  seen.fetched = await page.evaluate(() => fetch("parts.json").then(() => "answered", () => "refused"));
  seen.late = page.asked.slice(before).filter((url) => !url.startsWith("blob:"));

  for (const scheme of ["light", "dark"]) {
    for (const width of [390, 1280, 1680]) {
      await page.emulateMediaFeatures([{name: "prefers-color-scheme", value: scheme}]);
      await page.setViewport({width, height: width === 390 ? 844 : 1000});
      await page.screenshot({path: `${shots}/${width}-${scheme}.png`, fullPage: true});
      seen[`wide-${width}-${scheme}`] = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    }
  }
  await page.setViewport({width: 1280, height: 1000});
  await page.close();

  // A long line, on a phone and at a desk: its finding's place is shown, and the findings are one press away.
  for (const [width, height] of [[390, 844], [360, 640], [1280, 1000]]) {
    const phone = width < 500, small = await open(address, {width, height, isMobile: phone, hasTouch: phone});
    await after(small, () => put(small, LONG));
    const boxes = (...all) => small.evaluate((all) => all.map((one) => {
      const {left, right, top, bottom} = document.querySelector(one).getBoundingClientRect();
      return {left, right, top, bottom};
    }), all);
    const [lead, title] = await boxes("#lead", "#findings-title");
    await small.$eval("#findings .place", (one) => one.click());
    const [place, typed] = await boxes("#marks mark", "#text");
    await small.evaluate(() => scrollTo(0, 0));
    if (phone) await small.tap("#lead");
    const [now] = await boxes("#findings-title"), focused = await small.evaluate(() => document.activeElement.id);
    seen[`long-${width}`] = {lead, title, height, place, typed, now, focused};
    await small.close();
  }
  const small = await open();
  await after(small, () => put(small, UNDECIDED));
  seen.undecided = {text: UNDECIDED, en: await small.$$eval(".releases", (all) => all.map((one) => one.textContent))};
  await after(small, () => small.click("#language"));
  seen.undecided.zh = await small.$$eval(".releases", (all) => all.map((one) => one.textContent));
  await small.goto("about:blank");  // the reader's language is kept, and a link does not change it
  const theirs = await open(link);
  seen.theirs = [await theirs.$eval("html", (one) => one.lang), await value(theirs)];
  await after(theirs, () => theirs.click("#language"));
  await theirs.close();
  const asking = await open(`${address}?lang=zh`);
  seen.asked = await asking.$eval("html", (one) => one.lang);
  await asking.close();
  await small.close();

  const again = await open(link);
  seen.restored = {json: await text(again, "#json"), text: await value(again)};
  seen.second = again.asked.filter((url) => url.includes("/parts/"));
  await again.evaluate(() => {
    const line = (role, tokens) => `vllm serve /m --port 8100 --block-size ${tokens} --kv-transfer-config '{"kv_connector":"NixlConnector","kv_role":"${role}"}'\n`;
    const list = new DataTransfer();
    list.items.add(new File([line("kv_producer", 64)], "prefill.sh"));
    list.items.add(new File([line("kv_consumer", 128)], "decode.sh"));
    document.getElementById("text").value = "";
    document.getElementById("text").dispatchEvent(new Event("input"));
    globalThis.dropped = list;
  });
  await wait(1500);
  await after(again, () => again.evaluate(() => {
    document.getElementById("editor").dispatchEvent(new DragEvent("drop", {dataTransfer: dropped, cancelable: true}));
  }));
  seen.pair = {json: await text(again, "#json"), tabs: await again.$$eval("#tabs button", (all) => all.map((one) => one.textContent))};

  const name = async (typed) => {
    await again.click("#name", {clickCount: 3});
    await again.keyboard.type(typed);
    await again.keyboard.press("Enter");
  };
  await after(again, () => name("both/d.sh"));
  seen.renamed = {json: await text(again, "#json"), tabs: await again.$$eval("#tabs button", (all) => all.map((one) => one.textContent))};
  await name("prefill.sh");
  seen.taken = [await again.$eval("#name", (one) => one.validationMessage), await again.$$eval("#tabs button", (all) => all.map((one) => one.textContent))];
  await again.keyboard.press("Escape");

  // With keys alone: everything that can be used is reached, and a finding leads to its place.
  await after(again, () => again.click("#example"));
  await again.evaluate(() => document.activeElement.blur());
  const reached = new Set();
  for (let press = 0; press < 80; press++) {
    await again.keyboard.press("Tab");
    reached.add(await again.evaluate(() => document.activeElement.id || document.activeElement.className || document.activeElement.tagName));
  }
  seen.reached = [...reached];
  await again.focus(".place");
  await again.keyboard.press("Enter");
  seen.selected = await again.evaluate(() => [document.activeElement.id, getSelection().toString() || document.getElementById("text").value.slice(document.getElementById("text").selectionStart, document.getElementById("text").selectionEnd)]);
  await again.close();

  for (const place of ["", "licences.html"]) {
    const checked = await browser.newPage();
    await checked.setBypassCSP(true);  // for axe alone, which is put into the page
    await checked.goto(address + place);
    if (!place) {
      await checked.waitForFunction(() => document.body.dataset.round, {timeout: 120_000});
      await after(checked, () => checked.click("#example"));
    }
    if (!place) {
      await checked.click("#findings details summary");
      await checked.waitForSelector("#findings .explanation h4");
      seen.explained = await checked.evaluate(async (texts) => {
        const {explained} = await import("./explain.js");
        const blocks = (all) => [...all.childNodes].map((one) => [one.nodeName, one.textContent, [...one.querySelectorAll?.("*") ?? []].map((inner) => inner.nodeName)]);
        return texts.map((text) => blocks(explained(text)));
      }, JSON.parse(await readFile(explanations, "utf-8")));
    }
    for (const scheme of ["light", "dark"]) seen[`axe-${place || "page"}-${scheme}`] = await violations(checked, scheme);
    await checked.close();
  }

  server.kill();
  await wait(500);
  const offline = await open(link);
  seen.offline = await text(offline, "#json");
  seen.down = await offline.evaluate(() => document.getElementById("failed").textContent);
} catch (error) {
  seen.faults.push(String(error.stack ?? error));
}
server.kill();
await browser.close();
process.stdout.write(JSON.stringify(seen));
