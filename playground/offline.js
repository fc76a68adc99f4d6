// Keeps the page and its parts: a second visit loads nothing, and works without a network.
// The name of the cache changes with the parts, which parts.json lists with their hashes.

const LIST = "parts.json";
const PREFIX = "pd-launch-playground-";

async function name() {
  const answer = await fetch(LIST, {cache: "no-cache"});
  const bytes = await crypto.subtle.digest("SHA-256", await answer.arrayBuffer());
  return PREFIX + Array.from(new Uint8Array(bytes).slice(0, 8), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

self.addEventListener("install", () => self.skipWaiting());
self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));

self.addEventListener("message", (event) => event.waitUntil((async () => {
  if (event.data !== "new parts") return;
  const kept = await name();
  for (const other of await caches.keys()) if (other.startsWith(PREFIX) && other !== kept) await caches.delete(other);
})()));

self.addEventListener("fetch", (event) => {
  const url = new URL(event.request.url);
  if (event.request.method !== "GET" || !url.pathname.startsWith(new URL("./", self.location).pathname)) return;
  event.respondWith(url.pathname.includes("/parts/") ? kept(event.request) : fresh(event.request));
});

async function cacheOf() {
  const names = (await caches.keys()).filter((one) => one.startsWith(PREFIX));
  return caches.open(names.at(-1) ?? (await name()));
}

// A part never changes under its name and hash.
async function kept(request) {
  const cache = await cacheOf();
  const found = await cache.match(request);
  if (found) return found;
  const answer = await fetch(request);
  if (answer.ok) await cache.put(request, answer.clone());
  return answer;
}

// The page itself is asked for first, and taken from the cache where there is no network.
async function fresh(request) {
  const cache = await cacheOf();
  try {
    const answer = await fetch(request);
    if (answer.ok) await cache.put(request, answer.clone());
    return answer;
  } catch (error) {
    const found = await cache.match(request);
    if (found) return found;
    throw error;
  }
}
