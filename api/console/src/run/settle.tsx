// A call whose outcome nobody knows: its worker died while it was under way. A person looks, and says what came of it.
import { useState } from 'preact/hooks';
import { post } from '../api/client';
import { attempt, say } from '../state/notices';
import { Button } from '../ui/basics';

export function Settle({ at, step }: { at: string; step: string }) {
  const [note, setNote] = useState('');
  const settle = (outcome: 'done' | 'not_done') =>
    attempt(async () => {
      await post(`${at}/steps/${step}/settle`, { outcome, ...(note.trim() && { note: note.trim() }) });
      say('Noted. The next run that goes on from here tells the model.');
    });
  return (
    <div class="settle">
      <p class="warn">Its worker vanished while it was under way: it may have happened. It is not made again by itself.</p>
      <label class="field">
        <span>What did you find out?</span>
        <input type="text" value={note} onInput={(e) => setNote(e.currentTarget.value)} placeholder="such as: the branch was pushed" />
      </label>
      <div class="actions">
        <Button act={() => settle('not_done')}>It did not happen</Button>
        <Button act={() => settle('done')}>It happened</Button>
      </div>
    </div>
  );
}
