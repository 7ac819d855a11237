// Signing in: the tokens stay in this tab, and requests carry them from then on.
import { useState } from 'preact/hooks';
import { get, inOneSentence } from '../api/client';
import type { Session } from '../api/types.gen';
import { say } from '../state/notices';
import { signIn, tokens, useTokens } from '../state/session';
import { Button, Dialog, Problem } from './basics';

export function SignIn() {
  const open = signIn.value;
  if (!open) return null;
  return <SignInDialog reason={open.reason} runtime={open.runtime || tokens.value.runtime !== ''} />;
}

function SignInDialog({ reason, runtime }: { reason: string; runtime: boolean }) {
  const before = tokens.value;
  const [operator, setOperator] = useState(before.operator);
  const [server, setServer] = useState(before.runtime);
  const [wrong, setWrong] = useState('');
  const close = () => (signIn.value = undefined);
  const save = async () => {
    useTokens({ operator: operator.trim(), runtime: server.trim() });
    try {
      await get<Session>('/whoami');
      say(operator ? 'Your token is used from here on.' : 'Signed out.');
      close();
    } catch (e) {
      useTokens(before);
      setWrong(inOneSentence(e));
    }
  };
  return (
    <Dialog title="Sign in" close={close}>
      {reason && <p class="muted">{reason}</p>}
      {wrong && <Problem>{wrong}</Problem>}
      <form
        onSubmit={(e) => {
          e.preventDefault();
          void save();
        }}
      >
        <label class="field">
          <span>Operator token</span>
          <input type="password" autocomplete="off" spellcheck={false} value={operator} onInput={(e) => setOperator(e.currentTarget.value)} />
          <small>
            Proves who decides. The first one is in the file <code>operator.token</code> of the server’s data directory; <code>hecate operators</code> makes more.
          </small>
        </label>
        {runtime && (
          <label class="field">
            <span>Server token</span>
            <input type="password" autocomplete="off" spellcheck={false} value={server} onInput={(e) => setServer(e.currentTarget.value)} />
            <small>This server lets nobody in without it.</small>
          </label>
        )}
        <p class="muted">Kept in this tab only, until it is closed.</p>
        <div class="actions">
          <Button kind="quiet" act={close}>Cancel</Button>
          <button type="submit" class="button primary">Use</button>
        </div>
      </form>
    </Dialog>
  );
}
