// Runs the checker apart from the page, out of parts that the page has loaded: nothing is requested from here.

const asked = await new Promise((resolve) => {
  self.onmessage = (event) => resolve(event.data);
});
const {parts, tree, program} = asked;
const url = (name, type) => URL.createObjectURL(new Blob([parts[name]], {type}));
const script = (name) => import(url(name, "text/javascript"));
const TYPES = {wasm: "application/wasm", zip: "application/zip", json: "application/json"};

// What Pyodide would fetch is here already.
self.fetch = async (place) => {
  const name = String(place?.url ?? place).split("/").pop();
  if (!(name in parts)) throw new TypeError(`the page has no part ${name}`);
  return new Response(parts[name], {headers: {"Content-Type": TYPES[name.split(".").pop()] ?? "text/plain"}});
};

const [{loadPyodide}, {default: createPyodideModule}, {Parser, Language}, {flat}] = await Promise.all([
  script("pyodide.mjs"), script("pyodide.asm.mjs"), script("web-tree-sitter.js"),
  import(URL.createObjectURL(new Blob([tree], {type: "text/javascript"}))),
]);
const python = await loadPyodide({
  createPyodideModule,
  indexURL: "https://parts.invalid/",
  stdLibURL: "https://parts.invalid/python_stdlib.zip",
  lockFileContents: new TextDecoder().decode(parts["pyodide-lock.json"]),
});
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
  let answer;
  try {
    answer = JSON.parse(run.run(JSON.stringify(request)));
  } catch (error) {
    answer = {status: 70, out: "", err: String(error.message ?? error), files: request.files};
  }
  self.postMessage({id, ...answer});
};
self.postMessage({ready: version});
