// Loads the built playground's parts in Node and answers one request a line: the same parts, without a browser.
//   node ask.mjs FOLDER < requests > answers

import {copyFile, mkdtemp, readFile, rm} from "node:fs/promises";
import {createInterface} from "node:readline";
import {tmpdir} from "node:os";
import {pathToFileURL} from "node:url";
import {basename, resolve} from "node:path";

process.on("uncaughtException", (error) => {  // not Node's own report, which shows a line of a megabyte
  process.stderr.write(`${error.stack ?? error}\n`.split("\n").map((line) => line.slice(0, 200)).join("\n"));
  process.exit(1);
});
const folder = resolve(process.argv[2]);
const part = (name) => resolve(folder, "parts", name);
const load = (path) => import(pathToFileURL(path).href);
const copies = await mkdtemp(resolve(tmpdir(), "playground-"));

/** Import a module that is named .js: whether Node takes it for one depends on the folders above it. */
async function module(path) {
  const copy = resolve(copies, basename(path).replace(/js$/, "mjs"));
  await copyFile(path, copy);
  return load(copy);
}

const {loadPyodide} = await load(part("pyodide.mjs"));
const {Parser, Language} = await module(part("web-tree-sitter.js"));
const {flat} = await module(resolve(folder, "tree.js"));
await rm(copies, {recursive: true});

await Parser.init({locateFile: () => part("web-tree-sitter.wasm")});
const parser = new Parser();
parser.setLanguage(await Language.load(new Uint8Array(await readFile(part("tree-sitter-bash.wasm")))));
const modules = new Uint8Array(await readFile(part("modules.zip"))), program = await readFile(resolve(folder, "run.py"));

async function start() {
  const python = await loadPyodide({indexURL: resolve(folder, "parts") + "/"});
  python.unpackArchive(modules, "zip", {extractDir: "/modules"});
  python.runPython("import sys; sys.path.insert(0, '/modules')");
  python.FS.writeFile("/modules/run.py", program);
  const run = python.pyimport("run");
  const version = run.start((text) => {
    const tree = parser.parse(text), found = flat(tree);
    tree.delete();
    return found;
  });
  return [run, version];
}

let [run, version] = await start();
process.stderr.write(`${version}\n`);
for await (const line of createInterface({input: process.stdin})) {
  let answer;
  try {
    answer = run.run(line);
  } catch (error) {  // as the page does: what fell over is started anew
    answer = JSON.stringify({status: 70, out: "", err: String(error.message ?? error).slice(0, 500), files: JSON.parse(line).files});
    [run] = await start();
  }
  process.stdout.write(`${answer}\n`);
}
