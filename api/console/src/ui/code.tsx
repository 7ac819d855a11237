// Source code and output. Colours come when the part that knows languages has been loaded.
import { useEffect, useState } from 'preact/hooks';

type Highlighter = typeof import('highlight.js').default;
let loading: Promise<Highlighter | undefined> | undefined;
let loaded: Highlighter | undefined;

// Colouring is for reading; nobody reads a file of this size.
const colourMax = 200_000;

/** useHighlighter returns the highlighter once it is there. */
export function useHighlighter(wanted: boolean): Highlighter | undefined {
  const [h, setH] = useState(() => loaded);
  useEffect(() => {
    if (!wanted || h) return;
    loading ??= import('highlight.js').then(
      (m) => (loaded = m.default),
      () => (loading = undefined), // without the server there are no colours; the next text asks again
    );
    void loading.then((there) => there && setH(() => there));
  }, [wanted, h]);
  return h;
}

const languages: Record<string, string> = {
  go: 'go', ts: 'typescript', tsx: 'typescript', mts: 'typescript', js: 'javascript', jsx: 'javascript', mjs: 'javascript', json: 'json', py: 'python',
  rs: 'rust', c: 'c', h: 'c', cc: 'cpp', cpp: 'cpp', hpp: 'cpp', java: 'java', sh: 'bash', bash: 'bash', yml: 'yaml', yaml: 'yaml',
  toml: 'ini', ini: 'ini', md: 'markdown', css: 'css', html: 'xml', xml: 'xml', svg: 'xml', sql: 'sql', diff: 'diff', patch: 'diff', mk: 'makefile',
};

/** languageOf is the language that a file's name tells; empty if it tells none. */
export function languageOf(path: string | undefined): string {
  const name = (path ?? '').split('/').pop() ?? '';
  if (/^makefile$/i.test(name)) return 'makefile';
  return languages[name.split('.').pop()?.toLowerCase() ?? ''] ?? '';
}

/** coloured returns the lines of a text as safe HTML, with elements that go over lines closed and opened again. */
export function coloured(h: Highlighter | undefined, text: string, language: string): string[] {
  if (!h || !language || text.length > colourMax) return text.split('\n').map(escape);
  const open: string[] = [];
  return h.highlight(text, { language, ignoreIllegals: true }).value.split('\n').map((line) => {
    const before = open.join('');
    for (const tag of line.match(/<span[^>]*>|<\/span>/g) ?? []) {
      if (tag === '</span>') open.pop();
      else open.push(tag);
    }
    return before + line + '</span>'.repeat(open.length);
  });
}

export function escape(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

export function Code({ text, language, label, lines }: { text: string; language?: string; label?: string; lines?: number }) {
  const h = useHighlighter(Boolean(language));
  const [all, setAll] = useState(false);
  const rows = coloured(h, text.replace(/\n$/, ''), language ?? '');
  const shown = all || !lines || rows.length <= lines + 2 ? rows : rows.slice(0, lines);
  return (
    <div class="code">
      <pre tabIndex={0} role="region" aria-label={label ?? 'Text'}>
        <code dangerouslySetInnerHTML={{ __html: shown.join('\n') }} />
      </pre>
      {shown.length < rows.length && (
        <button type="button" class="more" onClick={() => setAll(true)}>
          {rows.length - shown.length} more lines
        </button>
      )}
    </div>
  );
}
