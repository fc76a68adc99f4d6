// Findings in the text: a copy of it lies under the text field, with marks at their places.

import {places} from "./files.js";

/** Write the text with its marks; of two that overlap, the first stays. */
export function mark(marks, value, findings) {
  const at = places(value), parts = [];
  const spans = findings.map((one) => {
    const start = at(one.line, one.column), end = at(one.end_line, one.end_column);
    return [start, Math.max(end, start + 1), one.severity];
  });
  spans.sort((a, b) => a[0] - b[0]);
  let done = 0;
  for (const [start, end, severity] of spans) {
    if (start < done) continue;
    const made = document.createElement("mark");
    made.className = severity;
    made.textContent = value.slice(start, end);
    parts.push(value.slice(done, start), made);
    done = end;
  }
  marks.replaceChildren(...parts, `${value.slice(done)}\n`);
}

/** Where a character of the text is drawn, in the text's own pixels: tabs and wide characters are wider than others. */
export function spot(marks, offset) {
  const walk = document.createTreeWalker(marks, NodeFilter.SHOW_TEXT), range = document.createRange();
  let node = walk.nextNode();
  for (; offset >= node.length; node = walk.nextNode()) offset -= node.length;  // the text ends with a line end of its own
  range.setStart(node, offset);
  range.setEnd(node, offset + 1);
  const box = range.getClientRects()[0] ?? range.getBoundingClientRect(), outer = marks.getBoundingClientRect();
  return {left: box.left - outer.left + marks.scrollLeft, top: box.top - outer.top + marks.scrollTop, height: box.height};
}

