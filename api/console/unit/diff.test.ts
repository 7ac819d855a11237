import { filesOf } from '../src/state/hunks';
import { textsOf } from '../src/state/patch';
import { compare, fold, numbered, pairs } from '../src/ui/compare';
import { same, test } from './check';

const plain = (text: string) => text.split('\n');

test('both texts of a patch', () => {
  same(textsOf('--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n one\n-two\n+zwei\n three\n'), { before: 'one\ntwo\nthree\n', after: 'one\nzwei\nthree\n' });
  same(textsOf('--- a/x\n+++ b/x\n@@ -1 +1 @@\n-one\n\\ No newline at end of file\n+one\n'), { before: 'one', after: 'one\n' });
  same(textsOf('@@ -1,2 +1,2 @@\n--- a dash\n+++ a plus\n @@ in the text\n'), { before: '-- a dash\n@@ in the text\n', after: '++ a plus\n@@ in the text\n' });
  same(textsOf(''), { before: '', after: '' });
});

test('the files of a diff', () => {
  const files = filesOf([
    'diff --git a/a.go b/a.go', 'index 1..2 100644', '--- a/a.go', '+++ b/a.go', '@@ -10,2 +12,2 @@ func x() {', ' same', '-old', '+new', '@@ -40 +42 @@', '-x', '+y',
    'diff --git a/gone.txt b/gone.txt', 'deleted file mode 100644', '--- a/gone.txt', '+++ /dev/null', '@@ -1 +0,0 @@', '-was', '\\ No newline at end of file',
    'diff --git a/pic.png b/pic.png', 'Binary files a/pic.png and b/pic.png differ',
    'diff --git "a/a \\"b\\" \\303\\274.txt" "b/a \\"b\\" \\303\\274.txt"', 'new file mode 120000', '',
  ].join('\n'));
  same([...files.keys()], ['a.go', 'gone.txt', 'pic.png', 'a "b" ü.txt']);
  same(files.get('a.go')!.hunks, [{ before: 10, after: 12, old: 'same\nold\n', fresh: 'same\nnew\n' }, { before: 40, after: 42, old: 'x\n', fresh: 'y\n' }]);
  same(files.get('gone.txt')!.hunks, [{ before: 1, after: 0, old: 'was', fresh: '' }]);
  same([files.get('pic.png')!.remark, files.get('a "b" ü.txt')!.remark], ['not text', 'a symbolic link']);
});

test('a diff that was cut off has what came before', () => {
  same(filesOf('diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1,9 +1,9 @@\n on').get('a')!.hunks, [{ before: 1, after: 1, old: 'on\n', fresh: 'on\n' }]);
  same(filesOf('').size, 0);
});

test('lines are numbered on both sides', () => {
  const lines = compare('a\nb\nc\n', 'a\nx\ny\nc\n', plain);
  same(lines.map((l) => [l.kind, l.before ?? 0, l.after ?? 0]), [['same', 1, 1], ['old', 2, 0], ['new', 0, 2], ['new', 0, 3], ['same', 3, 4]]);
  same(numbered(compare('a\n', 'a\nb\n', plain), { before: 7, after: 9 }).map((l) => [l.before ?? 0, l.after ?? 0]), [[7, 9], [0, 10]]);
});

test('a changed word is marked, and what looks like a tag is text', () => {
  const [old, fresh] = compare('say <b>hello</b> to them\n', 'say <b>goodbye</b> to them\n', plain);
  same(old!.html, 'say &lt;b&gt;<mark>hello</mark>&lt;/b&gt; to them');
  same(fresh!.html, 'say &lt;b&gt;<mark>goodbye</mark>&lt;/b&gt; to them');
  same(compare('one thing\n', 'something else entirely\n', plain).some((l) => l.html.includes('<mark>')), false, 'another line');
});

test('what did not change is folded, but for a few lines around', () => {
  const text = (change: string) => Array.from({ length: 20 }, (_, i) => (i === 10 ? change : `line ${i}`)).join('\n') + '\n';
  same(fold(compare(text('a'), text('b'), plain)).map((b) => [b.folded, b.lines.length]), [[true, 7], [false, 8], [true, 6]]);
  same(fold(compare('a\nb\n', 'a\nb\nc\n', plain)).map((b) => b.folded), [false]);
});

test('what went stands beside what came', () => {
  const rows = pairs(compare('a\nb\nc\nz\n', 'a\nx\nz\n', plain));
  same(rows.map(([l, r]) => [l?.before ?? 0, r?.after ?? 0]), [[1, 1], [2, 2], [3, 0], [4, 3]]);
});

test('a long text that is replaced is not compared', () => {
  const many = (word: string) => `${word}\n`.repeat(15_000);
  const lines = compare(many('a'), many('b'), plain);
  same([lines.length, lines[0]!.kind, lines[29_999]!.kind], [30_000, 'old', 'new']);
});
