import type { Event } from '../src/api/types.gen';
import { gist } from '../src/state/gist';
import { pathTail } from '../src/ui/format';
import { same, test } from './check';

const event = (type: string, data: object = {}, change: Partial<Event> = {}) => ({ type, data, sequence: 1, run_id: 'run_1', ...change }) as Event;

test('events of each kind have a sentence', () => {
  same(gist(event('run.finished', { final_status: 'completed', model_call_count: 2 })), 'completed · 2 model calls');
  same(gist(event('assistant.final_answer', { summary: 'All done.\nMore.' })), 'All done.');
  same(gist(event('tool.shell.exited', { exit_code: 1, signal: null, stdout_bytes: 5, stderr_bytes: 0 })), 'exit code 1 · stdout 5 bytes · stderr 0 bytes');
  same(gist(event('workspace.taken', { target: '/src', files_count: 2 })), '2 files taken · to /src');
  same(gist(event('workspace.changed', { tool_name: 'shell_exec', files: [{ path: 'a', kind: 'add' }], files_count: 3 })), '+a and 2 more · by shell_exec');
  same(gist(event('log.erased', { subject: 'run run_1', records: [{}, {}], contents: ['x'], reason: 'asked by its author' })), 'run run_1 · 2 events · 1 large content · asked by its author');
  same(gist(event('log.erased', { subject: 'run_contents', records: [{}], policy: 'run_contents' })), 'run_contents · 1 event · no longer kept');
  same(gist(event('retention.finished', { trigger: 'manual', results: [{ deleted: 2 }, { deleted: 1 }] })), 'manual · 3 events no longer kept');
  same(gist(event('ci.done', { note: 'green' })), 'green');
});

test('a look is told from a deed', () => {
  const asked = (preview: boolean) => event('workspace.operation.requested', { kind: 'take', preview }, { sequence: 1 });
  const done = event('workspace.operation.completed', { outcome: 'done', landed: { files_count: 2 } }, { sequence: 2, caused_by: 1 });
  same([gist(asked(true)), gist(asked(false))], ['looked at what would be taken', 'take']);
  same([gist(done, () => asked(true)), gist(done, () => asked(false))], ['looked at what would be taken · 2 files', 'take · done · 2 files']);
  same(gist(event('workspace.operation.completed', { outcome: 'refused', message: 'no' })), 'refused · no');
});

test('a long path keeps its end', () => {
  same(pathTail('/a/b.go'), '/a/b.go');
  const long = pathTail('/' + 'deep/'.repeat(30) + 'file.go');
  same([long.startsWith('…/deep'), long.endsWith('/file.go'), long.length <= 65], [true, true, true]);
  same(pathTail('/tmp/' + 'n'.repeat(80)).startsWith('…/nnn'), true);
  same(pathTail(undefined), '');
});
