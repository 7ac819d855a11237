// A history as a file: one event a line.
import { useRef, useState } from 'preact/hooks';
import type { Event } from '../api/types.gen';
import { exportLines, type Scope } from '../state/history';
import { attempt, say } from '../state/notices';
import { Button } from '../ui/basics';
import { count, many } from '../ui/format';

export function Export({ scope, keep }: { scope: Scope; keep: (e: Event) => boolean }) {
  const [read, setRead] = useState<number>();
  const stop = useRef<AbortController | undefined>(undefined);
  const go = () =>
    attempt(async () => {
      stop.current = new AbortController();
      setRead(0);
      let n = 0;
      const file = await exportLines(scope, keep, (read) => setRead((n = read)), stop.current.signal);
      if (stop.current.signal.aborted) return say('Given up.');
      save(file, `hecate-${scope.run || scope.task || 'history'}.jsonl`);
      say(`${many(n, 'event')} written to a file.`);
    }).finally(() => setRead(undefined));
  if (read === undefined) return <Button act={go} title="All events that match, one JSON object a line">Export JSON Lines</Button>;
  return <button type="button" class="button" onClick={() => stop.current?.abort()}>{count(read)} read · Stop</button>;
}

function save(file: Blob, name: string): void {
  const a = document.createElement('a');
  a.href = URL.createObjectURL(file);
  a.download = name;
  a.click();
  setTimeout(() => URL.revokeObjectURL(a.href), 60_000); // the browser reads it after the click
}
