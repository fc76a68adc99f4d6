// The language: what the address asks for (as the documentation's links do), else what was chosen before, else the browser's.

import {TEXTS} from "./texts.js";

const CHOSEN = "pd-launch-language";
const known = (lang) => (Object.hasOwn(TEXTS, lang ?? "") ? lang : undefined);

export function preferred() {
  const asked = new URLSearchParams(location.search).get("lang");
  return known(asked) ?? known(chosen()) ?? (navigator.language?.startsWith("zh") ? "zh" : "en");
}

/** Keep the reader's choice; what the address asked for is past. */
export function keep(lang) {
  try { localStorage.setItem(CHOSEN, lang); } catch { /* a browser may keep nothing */ }
  if (location.search) history.replaceState(null, "", location.pathname + location.hash);
}

function chosen() {
  try { return localStorage.getItem(CHOSEN); } catch { return undefined; }
}
