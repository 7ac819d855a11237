// Replaced pieces of a file, with the rest of the lines in which they begin and end.
import type { Patch } from '../api/types.gen';
import { textsOf } from './patch';

export interface Piece {
  before: string;
  after: string;
}

/** wholeLines adds the rest of the lines to a replaced piece, if one of the patches is about it. */
export function wholeLines(path: string, piece: Piece, patches: Patch[]): Piece {
  for (const p of patches) {
    if (!path || (p.path !== path && !p.path?.endsWith('/' + path.replace(/^\.\//, '')))) continue;
    const { before, after } = textsOf(p.diff);
    const at = before.indexOf(piece.before);
    if (!piece.before || at < 0 || !after.startsWith(before.slice(0, at) + piece.after)) continue;
    const from = before.lastIndexOf('\n', at - 1) + 1;
    const head = before.slice(at === 0 ? 0 : from, at);
    const end = at + piece.before.length;
    if (before[end - 1] === '\n' && piece.after.endsWith('\n')) return { before: head + piece.before, after: head + piece.after };
    const next = before.indexOf('\n', end);
    const tail = before.slice(end, next < 0 ? undefined : next + 1);
    return { before: head + piece.before + tail, after: head + piece.after + tail };
  }
  return piece;
}
