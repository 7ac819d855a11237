// Diffs of many files, as git writes them.

export interface Hunk {
  /** before and after are the numbers of the first lines. */
  before: number;
  after: number;
  old: string;
  fresh: string;
}

export interface FileDiff {
  path: string;
  hunks: Hunk[];
  /** remark is what git says of a file whose lines it does not show, or whose mode has changed. */
  remark: string;
}

/** filesOf returns the files of a diff, by path. A diff that was cut off ends where it was cut. */
export function filesOf(diff: string): Map<string, FileDiff> {
  const out = new Map<string, FileDiff>();
  for (const part of diff.split(/^(?=diff --git )/m)) {
    const file = fileOf(part.split('\n'));
    if (file.path) out.set(file.path, file);
  }
  return out;
}

function fileOf(lines: string[]): FileDiff {
  const file: FileDiff = { path: '', hunks: [], remark: '' };
  const remarks: string[] = [];
  let body: string[] = [];
  let head = true;
  const close = () => {
    const hunk = file.hunks[file.hunks.length - 1];
    if (hunk) [hunk.old, hunk.fresh] = sides(body);
    body = [];
  };
  for (const line of lines) {
    const at = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@/.exec(line);
    if (at) {
      close();
      head = false;
      file.hunks.push({ before: Number(at[1]), after: Number(at[2]), old: '', fresh: '' });
    } else if (!head) body.push(line);
    else if (line.startsWith('diff --git ')) file.path = pathInHead(line);
    else if (/^(---|\+\+\+) /.test(line) && !line.endsWith('/dev/null')) file.path = plain(line.slice(4).replace(/\t$/, '')).replace(/^[ab]\//, '');
    else if (/^(Binary|(old|new) mode|(new|deleted) file mode 1(2|60))/.test(line)) remarks.push(line);
  }
  close();
  file.remark = remarks.map(remarkOf).filter(Boolean).join(', ');
  return file;
}

function remarkOf(line: string): string {
  if (line.startsWith('Binary')) return 'not text';
  if (/ 120000$/.test(line)) return 'a symbolic link';
  if (/ 160000$/.test(line)) return 'a repository of its own';
  return line;
}

/** pathInHead is the path in the first line of a file, where both names of it are the same. */
function pathInHead(line: string): string {
  const rest = line.slice('diff --git '.length);
  if (rest.startsWith('"')) return plain(/^"(?:[^"\\]|\\.)*"/.exec(rest)?.[0] ?? '').replace(/^a\//, '');
  return rest.slice(2, (rest.length - 1) / 2);
}

/** plain undoes git's quotes around unusual names. */
function plain(name: string): string {
  if (!name.startsWith('"')) return name;
  const bytes: number[] = [];
  const escapes: Record<string, number> = { a: 7, b: 8, t: 9, n: 10, v: 11, f: 12, r: 13 };
  for (const [all, octal, one] of name.slice(1, -1).matchAll(/\\([0-7]{3})|\\(.)|[^\\]/gu)) {
    if (octal) bytes.push(parseInt(octal, 8));
    else if (one) bytes.push(escapes[one] ?? one.charCodeAt(0));
    else bytes.push(...new TextEncoder().encode(all));
  }
  return new TextDecoder().decode(new Uint8Array(bytes));
}

/** sides are the texts of a hunk before and after. */
function sides(body: string[]): [string, string] {
  const texts: [string[], string[]] = [[], []];
  let last: string[][] = [];
  for (const line of body) {
    if (line[0] === '\\') { // the line before it has no line break
      for (const side of last) side[side.length - 1] = side[side.length - 1]!.slice(0, -1);
      continue;
    }
    last = line[0] === '-' ? [texts[0]] : line[0] === '+' ? [texts[1]] : line[0] === ' ' ? texts : [];
    for (const side of last) side.push(line.slice(1) + '\n');
  }
  return [texts[0].join(''), texts[1].join('')];
}
