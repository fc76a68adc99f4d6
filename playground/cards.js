// One finding as a card: what it says, where, for which releases, why, what to do, and the rule's explanation.

import {add, explained, inline} from "./explain.js";

/**
 * A card. `does` holds what its buttons do: `go` to the place, `apply` the fix, and `explain` the rule, which answers with its text.
 */
export function card(finding, targets, t, does) {
  const li = document.createElement("li");
  li.className = finding.severity;
  const line = add(li, "p");
  add(line, "span", `${t[finding.severity]} ${finding.code} `).className = "severity";
  add(line, "span", finding.message);
  pressed(add(li, "p"), "place", `${finding.file}:${finding.line}:${finding.column}`, () => does.go(finding));
  const why = add(li, "p");
  why.className = "why";
  inline(why, finding.why);
  const only = releasesOf(finding, targets, t);
  if (only) add(li, "p", `${t.releases}${t.space}${only}`).className = "releases";
  if (finding.help && finding.help !== finding.fix?.message) add(li, "p", `${t.help}${t.space}${finding.help}`);
  for (const one of finding.related) {
    const other = add(li, "p");
    pressed(other, "place", `${one.file}:${one.line}:${one.column}`, () => does.go(one));
    add(other, "span", `${t.colon}${one.message}`);
  }
  if (finding.fix) pressed(li, "one-fix", `${t.fixThis}${t.space}${finding.fix.message}`, () => does.apply(finding.fix));
  explanation(li, t, () => does.explain(finding.code));
  return li;
}

function pressed(parent, kind, text, action) {
  const button = add(parent, "button", text);
  button.type = "button";
  button.className = kind;
  button.addEventListener("click", action);
}

function explanation(li, t, asked) {
  const more = add(li, "details");
  add(more, "summary", t.explain);
  more.addEventListener("toggle", async () => {
    if (!more.open || more.children.length > 1) return;
    const page = add(more, "div", t.checking);
    page.className = "explanation";
    page.replaceChildren(explained(await asked()));
  });
}

/** The releases that a finding is for, where that says more than the summary: as the command's own report decides it. */
export function releasesOf(finding, targets, t) {
  const choices = new Set(targets.map((one) => `${one.from} ${one.looked_at}`));
  const open = (one) => one.from === "unknown";
  if (!finding.releases.length || !(choices.size > 1 || targets.some(open))) return "";
  const same = targets.filter((one) => one.file === finding.file), own = same.length ? same : targets;
  const families = new Set(own.flatMap((one) => one.looked_at.map((name) => name.split(" ")[0])));
  const every = families.size === finding.releases.length && finding.releases.every((name) => families.has(name));
  return own.every(open) && every ? "" : finding.releases.map(t.range).join(t.listComma);
}
