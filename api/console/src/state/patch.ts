// Unified diffs, as far as the runtime writes them.

/** textsOf returns what a diff knows of a file before and after. */
export function textsOf(diff: string): { before: string; after: string } {
  const before: string[] = [];
  const after: string[] = [];
  let body = false;
  let last: string[][] = [];
  for (const line of diff.split('\n')) {
    if (line.startsWith('@@')) {
      body = true;
      continue;
    }
    if (!body) continue;
    switch (line[0]) {
      case '-': last = [before]; break;
      case '+': last = [after]; break;
      case ' ': last = [before, after]; break;
      case '\\': // the line before it has no line break
        for (const side of last) side[side.length - 1] = side[side.length - 1]!.slice(0, -1);
        continue;
      default: continue;
    }
    for (const side of last) side.push(line.slice(1) + '\n');
  }
  return { before: before.join(''), after: after.join('') };
}
