// Names, places and edits of the files, and the form in which a link holds them.

/** A name that the checker can write below a folder of its own. */
export function usable(name) {
  const steps = String(name).split(/[/\\]/).map((step) => step.replace(/[\u0000-\u001f\u007f\ud800-\udfff]/gu, "_").slice(0, 100));
  const kept = steps.filter((step) => step && step !== "." && step !== "..").slice(-8).join("/");
  return kept.replace(/^-/, "_") || "text";  // a name that begins with - would be an option
}

/** The name itself where it is free, else the same below a folder with a number: no text takes another's place. */
export function free(name, files) {
  const taken = (wanted) => Object.keys(files).some(
    (known) => known === wanted || known.startsWith(`${wanted}/`) || wanted.startsWith(`${known}/`));
  let wanted = name;
  for (let number = 2; taken(wanted); number++) wanted = `${number}/${name}`;
  return wanted;
}

/** A name for a pasted text; forms are told by what is in them, and the name is for the reader. */
export function guessed(text, otherwise) {
  const line = text.split("\n").find((one) => one.trim() && !one.startsWith("#")) ?? "";
  if (/^\s*\{/.test(line)) return "pasted.json";
  if (/^(---|-? ?"?[A-Za-z_][\w.-]{0,60}"?:(\s|$))/.test(line)) return "pasted.yaml";
  if (/^FROM\s/i.test(line)) return "Dockerfile";
  if (/^\[\w/.test(line)) return "pasted.service";
  if (/^(import|from)\s+\w/.test(line)) return "pasted.py";
  return otherwise;
}

/** Where lines and columns lie. They count characters from 1; JavaScript counts units of UTF-16 from 0. */
export function places(text) {
  const starts = [0];
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) starts.push(at + 1);
  return (line, column) => {
    const start = starts[line - 1] ?? text.length;
    const row = text.slice(start, (starts[line] ?? text.length + 1) - 1);
    return start + [...row].slice(0, column - 1).join("").length;
  };
}

/** The files with the edits of one fix made. */
export function edited(files, edits) {
  const changed = {...files};
  for (const name of new Set(edits.map((edit) => edit.file))) {
    const text = files[name] ?? "", at = places(text);
    const spans = edits.filter((edit) => edit.file === name)
      .map((edit) => [at(edit.line, edit.column), at(edit.end_line, edit.end_column), edit.text]);
    spans.sort((a, b) => b[0] - a[0]);
    changed[name] = spans.reduce((whole, [start, end, put]) => whole.slice(0, start) + put + whole.slice(end), text);
  }
  return changed;
}

export async function pack(value) {
  const stream = new Blob([JSON.stringify(value)]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  const signs = Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
  return btoa(signs).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

export async function unpack(text) {
  const signs = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  const stream = new Blob([Uint8Array.from(signs, (sign) => sign.charCodeAt(0))]).stream();
  return JSON.parse(await new Response(stream.pipeThrough(new DecompressionStream("deflate-raw"))).text());
}
