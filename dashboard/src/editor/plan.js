// A plan as the server explains it -> boxes and lines of a picture. The lines of the text and the operators of the tree
// are in the same order, so each box has the operator's own words.
const WIDE = 250;
const HIGH = 54;
const GAP = { x: 26, y: 34 };

/** Boxes with x, y, words and host; lines between them; and the size of all. */
export function pictureOf(plan, text) {
  const lines = text.split('\n').filter((line) => /^\s*[A-Z_]+( |$)/.test(line));
  let next = 0;
  const boxes = [];
  const links = [];
  let edge = 0;
  function put(node, depth) {
    const words = (lines[next++] ?? node.operator).trim();
    const box = { operator: node.operator, words: words.slice(node.operator.length).trim().replace(/^\[|\]( @\w+)?$/g, ''), host: hostOf(node), collection: node.collection, columns: node.schema?.map((one) => one.name).join(', ') ?? '', y: depth * (HIGH + GAP.y) };
    boxes.push(box);
    const below = (node.inputs ?? []).map((input) => put(input, depth + 1));
    if (below.length) box.x = below.reduce((sum, one) => sum + one.x, 0) / below.length;
    else {
      box.x = edge;
      edge += WIDE + GAP.x;
    }
    for (const one of below) links.push({ from: one, to: box });
    return box;
  }
  put(plan, 0);
  return { boxes, links, wide: Math.max(...boxes.map((box) => box.x)) + WIDE, high: Math.max(...boxes.map((box) => box.y)) + HIGH, WIDE, HIGH };
}

function hostOf(node) {
  if (/ACQUIRE|RECEIVE/.test(node.operator)) return 'sensors';
  return /TABLE|SCAN/.test(node.operator) ? 'stored' : 'gateway';
}
