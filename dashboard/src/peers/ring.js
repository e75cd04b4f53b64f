// The ring as a drawing: where a peer stands, and the arc of keys that it owns. Keys have 64 bits, written in
// hexadecimal; they grow clockwise from the top.

/** A key -> its share of the whole ring, from 0 to 1. The first 13 digits are all that a double can hold. */
export const share = (key) => parseInt(key.slice(0, 13), 16) / 2 ** 52;

/** A place on the circle. */
export function at(turn, radius) {
  const angle = 2 * Math.PI * turn;
  return [radius * Math.sin(angle), -radius * Math.cos(angle)];
}
const spot = (turn, radius) => at(turn, radius).map((one) => one.toFixed(2)).join(' ');

/** The arc from one key (without it) to another, as a path. The whole ring if they are the same. */
export function arc(after, until, radius) {
  const begin = share(after);
  const size = (share(until) - begin + 1) % 1 || 1;
  const middle = begin + size / 2;
  const large = size / 2 > 0.5 ? 1 : 0;
  return `M${spot(begin, radius)} A${radius} ${radius} 0 ${large} 1 ${spot(middle, radius)} A${radius} ${radius} 0 ${large} 1 ${spot(begin + size, radius)}`;
}

/** Labels beside the peers: pushed apart on each side, so that none covers another. */
export function labels(peers, radius, height) {
  const found = peers.map((peer) => {
    const [x, y] = at(share(peer.id), radius);
    return { id: peer.id, x, y, right: x >= 0 };
  });
  for (const side of [true, false]) {
    const some = found.filter((one) => one.right === side).sort((a, b) => a.y - b.y);
    for (let turn = 0; turn < 40; turn++) {
      for (let place = 1; place < some.length; place++) {
        const over = height - (some[place].y - some[place - 1].y);
        if (over > 0) {
          some[place - 1].y -= over / 2;
          some[place].y += over / 2;
        }
      }
    }
  }
  return found;
}
