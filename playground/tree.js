// Hands a syntax tree of web-tree-sitter over as numbers, once (see launcher/sources/shell/flat.py).

const NAMED = 1, MISSING = 2, HAS_ERROR = 4;

/** Returns the kinds of nodes and, for each node in order, its kind, flags, start, end and number of children. */
export function flat(tree) {
  const kinds = [], known = new Map(), numbers = [];
  const cursor = tree.walk();
  for (;;) {
    const type = cursor.nodeType;
    if (!known.has(type)) {
      known.set(type, kinds.length);
      kinds.push(type);
    }
    const node = cursor.currentNode;
    const flags = (node.isNamed ? NAMED : 0) | (node.isMissing ? MISSING : 0) | (node.hasError ? HAS_ERROR : 0);
    numbers.push(known.get(type), flags, node.startIndex, node.endIndex, node.childCount);
    if (cursor.gotoFirstChild()) continue;
    while (!cursor.gotoNextSibling()) {
      if (!cursor.gotoParent()) {
        cursor.delete();
        return [kinds, Int32Array.from(numbers)];
      }
    }
  }
}
