// Runs the checker apart from the page, out of parts that the page has loaded: nothing is requested from here.

const asked = await new Promise((resolve) => {
  self.onmessage = (event) => resolve(event.data);
});
const {parts, tree, program} = asked;
const HERE = "https://parts.invalid/";
// A script of a blob has no place that others could be looked for beside.
const script = (text) => import(URL.createObjectURL(
  new Blob([text.replaceAll("import.meta.url", JSON.stringify(HERE))], {type: "text/javascript"})));
const text = (name) => new TextDecoder().decode(parts[name]);
const TYPES = {wasm: "application/wasm", zip: "application/zip", json: "application/json"};

// What Pyodide would fetch is here already.
self.fetch = async (place) => {
  const name = String(place?.url ?? place).split("/").pop();
  if (!(name in parts)) throw new TypeError(`the page has no part ${name}`);
  return new Response(parts[name], {headers: {"Content-Type": TYPES[name.split(".").pop()] ?? "text/plain"}});
};

const [{loadPyodide}, {default: createPyodideModule}, {Parser, Language}, {flat}] = await Promise.all([
  script(text("pyodide.mjs")), script(text("pyodide.asm.mjs")), script(text("web-tree-sitter.js")), script(tree),
]);
const python = await loadPyodide({
  createPyodideModule,
  indexURL: HERE,
  stdLibURL: `${HERE}python_stdlib.zip`,
  lockFileContents: text("pyodide-lock.json"),
});
self.postMessage({step: "checker"});
python.unpackArchive(new Uint8Array(parts["modules.zip"]), "zip", {extractDir: "/modules"});
await Parser.init({wasmBinary: new Uint8Array(parts["web-tree-sitter.wasm"])});
const parser = new Parser();
parser.setLanguage(await Language.load(new Uint8Array(parts["tree-sitter-bash.wasm"])));
python.FS.writeFile("/modules/run.py", program);
python.runPython("import sys; sys.path.insert(0, '/modules')");
const run = python.pyimport("run");
const version = run.start((text) => {
  const found = parser.parse(text), numbers = flat(found);
  found.delete();
  return numbers;
});

self.onmessage = ({data}) => {
  const {id, ...request} = data;
  try {
    self.postMessage({id, ...JSON.parse(run.run(JSON.stringify(request)))});
  } catch (error) {  // Python itself fell over: what is left of it answers nothing any more
    self.postMessage({broken: String(error.message ?? error)});
  }
};
self.postMessage({ready: version});
