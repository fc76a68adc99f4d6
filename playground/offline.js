// Keeps the page's own small files, so that it opens without a network. The parts are kept by the page, by their hashes.

const CACHE = "pd-launch-playground";
const FILES = ["./", "page.js", "cards.js", "explain.js", "language.js", "marks.js", "checker.js", "files.js", "texts.js", "worker.js",
  "tree.js", "run.py", "style.css", "icon.svg", "parts.json", "licences.html"];

self.addEventListener("install", (event) => event.waitUntil((async () => {
  await (await caches.open(CACHE)).addAll(FILES.map((name) => new Request(name, {cache: "no-cache"})));
  await self.skipWaiting();
})()));
self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));

self.addEventListener("fetch", (event) => {
  const path = new URL(event.request.url).pathname, own = new URL("./", self.location).pathname;
  const ours = FILES.some((name) => path === new URL(name, self.location).pathname) || path === `${own}index.html`;
  if (event.request.method === "GET" && ours) event.respondWith(fresh(event.request));
});

// The network is asked first, so that a new version is seen; what is kept serves where there is none.
async function fresh(request) {
  const cache = await caches.open(CACHE);
  try {
    const answer = await fetch(request, {cache: "no-cache"});
    if (answer.ok) await cache.put(request, answer.clone());
    return answer;
  } catch (error) {
    const found = await cache.match(request, {ignoreSearch: true}) ?? (request.mode === "navigate" ? await cache.match("./") : undefined);
    if (found) return found;
    throw error;
  }
}
