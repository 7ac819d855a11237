// The arguments of a tool call, in the form in which a person can judge them.
import type { Patch } from '../api/types.gen';
import { wholeLines } from '../state/whole';
import { Code, languageOf } from '../ui/code';
import { Diff } from '../ui/diff';

type Args = Record<string, unknown>;
const text = (v: unknown) => (typeof v === 'string' ? v : '');

interface Props {
  tool: string;
  args: unknown;
  /** patches are what came of such calls, where that is to be shown with them. */
  patches?: Patch[];
}

export function Arguments({ tool, args, patches }: Props) {
  if (args === undefined) return <p class="muted">Its arguments are not here yet.</p>;
  const a = (typeof args === 'object' && args !== null ? args : { raw: args }) as Args;
  const shown = special(tool, a, patches ?? []);
  const rest = Object.entries(a).filter(([name]) => !shown.uses.includes(name));
  return (
    <div class="arguments">
      {rest.length > 0 && (
        <dl class="args">
          {rest.map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd><code>{typeof value === 'string' ? value : JSON.stringify(value)}</code></dd>
            </div>
          ))}
        </dl>
      )}
      {shown.view}
    </div>
  );
}

/** special shows what some arguments are: commands, files and changes. */
function special(tool: string, a: Args, patches: Patch[]) {
  const path = text(a.path);
  switch (true) {
    case typeof a.old_text === 'string' && typeof a.new_text === 'string':
      return { uses: ['old_text', 'new_text'], view: <Diff {...wholeLines(path, { before: text(a.old_text), after: text(a.new_text) }, patches)} language={languageOf(path)} label={`Change of ${path}`} bare /> };
    case typeof a.patch_text === 'string':
      return { uses: ['patch_text'], view: <Code text={text(a.patch_text)} language="diff" label="Patch" /> };
    case typeof a.content === 'string':
      return { uses: ['content'], view: <Code text={text(a.content)} language={languageOf(path)} label={`Content of ${path}`} lines={400} /> };
    case typeof a.command === 'string' && a.args === undefined:
      return { uses: ['command'], view: <Code text={(tool === 'git_exec' ? 'git ' : '') + text(a.command)} language="bash" label="Command" /> };
    case Array.isArray(a.args):
      return { uses: ['command', 'program', 'args'], view: <Code text={[text(a.command) || text(a.program), ...(a.args as unknown[]).map((v) => JSON.stringify(v))].join(' ')} label="Command" /> };
  }
  return { uses: [] as string[], view: null };
}
