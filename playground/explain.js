// An explanation, as the command prints it in Markdown, as elements. Text becomes text and nothing else: no HTML is read from it.

const FENCE = /^```(\w*)\s*$/, HEADING = /^#{1,6} +(.+)$/, ITEM = /^(?:[-*]|\d+\.) +(.*)$/;
const WIDE = /[\u2e80-\u9fff\uff00-\uffef]/;

/** The explanation's elements; headings begin at level 3, below those of the page. */
export function explained(text) {
  const all = document.createDocumentFragment();
  const lines = text.trim().split("\n");
  add(all, "h3", lines[0]);
  for (let at = 1; at < lines.length;) at = block(all, lines, at);
  return all;
}

/** Add the block that begins at a line; return the line after it. */
function block(all, lines, at) {
  const line = lines[at];
  if (!line.trim()) return at + 1;
  const fence = FENCE.exec(line), heading = HEADING.exec(line);
  if (fence) {
    const end = lines.findIndex((one, index) => index > at && FENCE.test(one));
    const stop = end < 0 ? lines.length : end;
    add(add(all, "pre"), "code", lines.slice(at + 1, stop).join("\n"));
    return stop + 1;
  }
  if (heading) {
    inline(add(all, "h4"), heading[1]);
    return at + 1;
  }
  if (ITEM.test(line)) return list(all, lines, at);
  const stop = until(lines, at + 1, (one) => !one.trim() || FENCE.test(one) || HEADING.test(one) || ITEM.test(one));
  inline(add(all, "p"), joined(lines.slice(at, stop)));
  return stop;
}

function list(all, lines, at) {
  const items = add(all, /^\d/.test(lines[at]) ? "ol" : "ul");
  while (at < lines.length && ITEM.test(lines[at])) {
    const stop = until(lines, at + 1, (one) => !one.trim() || ITEM.test(one) || !/^\s/.test(one));
    inline(add(items, "li"), joined([ITEM.exec(lines[at])[1], ...lines.slice(at + 1, stop)]));
    at = stop;
  }
  return at;
}

function until(lines, from, ends) {
  const found = lines.slice(from).findIndex(ends);
  return found < 0 ? lines.length : from + found;
}

/** Lines of one paragraph in one: Chinese words are not parted by a space. */
function joined(lines) {
  return lines.map((one) => one.trim()).reduce((whole, one) => {
    const tight = WIDE.test(whole.at(-1) ?? "") && WIDE.test(one[0] ?? "");
    return `${whole}${tight ? "" : " "}${one}`;
  });
}

/** Text with `code`, **strong** words and [links](https://…), which open beside the page. */
export function inline(parent, text) {
  const marked = /(`+)(.+?)\1|\*\*(.+?)\*\*|\[([^\]]+)\]\((https?:[^)\s]+)\)/g;
  let done = 0;
  for (const found of text.matchAll(marked)) {
    parent.append(text.slice(done, found.index));
    if (found[2]) add(parent, "code", found[2]);
    else if (found[3]) add(parent, "strong", found[3]);
    else Object.assign(add(parent, "a", found[4]), {href: found[5], target: "_blank", rel: "noopener noreferrer"});
    done = found.index + found[0].length;
  }
  parent.append(text.slice(done));
}

/** A new element at the end of another, with text. */
export function add(parent, kind, text = "") {
  const made = document.createElement(kind);
  made.textContent = text;
  parent.append(made);
  return made;
}
