// Loads the checker's parts, each kept by the browser under its hash, and runs them in a worker.

const CACHE = "pd-launch-playground", LONGEST = 60_000;

/** The checker in its worker: `run` answers with what the command prints. A worker that hangs or falls over is replaced. */
export class Checker {
  constructor(loaded, stepped = () => undefined) {
    this.loaded = loaded;
    this.stepped = stepped;
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
        if (data.step) this.stepped(data.step);
        else if (data.ready) resolve(data.ready);
        else if (data.broken) this.replace("broke");
        else this.waiting.get(data.id)?.(data);
      };
    });
    const {parts, tree, program} = this.loaded;
    this.worker.postMessage({parts, tree, program});
  }

  /** End the worker, say so to whoever waits, and start another. */
  replace(stopped) {
    this.worker.terminate();
    for (const answer of this.waiting.values()) answer({status: 70, out: "", err: "", stopped});
    this.start();
  }

  /** Answers with `status`, `out`, `err` and the `files` afterwards; where it was ended, `stopped` says why. */
  async run(args, files) {
    await this.ready;
    const id = ++this.next;
    return new Promise((resolve) => {
      const late = setTimeout(() => this.replace("late"), LONGEST);
      this.waiting.set(id, (answer) => {
        clearTimeout(late);
        this.waiting.delete(id);
        resolve({files, ...answer});
      });
      this.worker.postMessage({id, args, files});
    });
  }
}

/** One part, kept by the browser under its hash: a second visit loads none, and a new part is never taken for an old one. */
async function part(name, hash, came) {
  const kept = await globalThis.caches?.open(CACHE).catch(() => undefined);
  const place = new URL(`parts/${name}?${hash.slice(0, 16)}`, location.href).href;
  const found = await kept?.match(place);
  if (found) {
    const bytes = await found.arrayBuffer();
    came(bytes.byteLength);
    return bytes;
  }
  const answer = await fetch(place);
  if (!answer.ok) throw new Error(`${name}: ${answer.status}`);
  const chunks = [], reader = answer.body.getReader();
  for (let read; !(read = await reader.read()).done;) {
    chunks.push(read.value);
    came(read.value.length);
  }
  const bytes = await new Blob(chunks).arrayBuffer();
  if (globalThis.crypto?.subtle) {
    const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
    if (Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("") !== hash) throw new Error(name, {cause: "damaged"});
  }
  await kept?.put(place, new Response(bytes)).catch(() => undefined);  // a full disk only costs the second visit
  return bytes;
}

/** All parts; `progress` is told the bytes that are here, and of how many. */
export async function load(progress) {
  const text = async (name) => {
    const answer = await fetch(name);
    if (!answer.ok) throw new Error(`${name}: ${answer.status}`);
    return answer.text();
  };
  const listed = JSON.parse(await text("parts.json"));
  const whole = Object.values(listed).reduce((sum, [size]) => sum + size, 0);
  let loaded = 0;
  const came = (bytes) => progress(loaded += bytes, whole);
  const [worker, tree, program, ...parts] = await Promise.all([
    text("worker.js"), text("tree.js"), text("run.py"),
    ...Object.entries(listed).map(async ([name, [, hash]]) => [name, await part(name, hash, came)]),
  ]);
  const hashes = new Set(Object.values(listed).map(([, hash]) => `?${hash.slice(0, 16)}`));
  const kept = await globalThis.caches?.open(CACHE).catch(() => undefined);
  for (const request of (await kept?.keys()) ?? []) {
    const place = new URL(request.url);
    if (place.pathname.includes("/parts/") && !hashes.has(place.search)) await kept.delete(request);
  }
  return {worker, tree, program, parts: Object.fromEntries(parts)};
}
