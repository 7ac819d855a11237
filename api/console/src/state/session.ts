// Who sits here. Tokens stay in this tab and end with it.
import { signal } from '@preact/signals';

export interface Tokens {
  operator: string;
  runtime: string;
}

const key = 'hecate.tokens';

function kept(): Tokens {
  try {
    return { operator: '', runtime: '', ...(JSON.parse(sessionStorage.getItem(key) ?? '{}') as Partial<Tokens>) };
  } catch {
    return { operator: '', runtime: '' };
  }
}

export const tokens = signal<Tokens>(kept());

/** signIn is why the sign-in dialog is open; undefined if it is not. */
export const signIn = signal<{ reason: string; runtime: boolean } | undefined>(undefined);

export function useTokens(t: Tokens): void {
  tokens.value = t;
  if (t.operator || t.runtime) sessionStorage.setItem(key, JSON.stringify(t));
  else sessionStorage.removeItem(key);
}

/** askForToken opens the sign-in dialog if a token is what a refused request lacks. */
export function askForToken(status: number, message: string): void {
  const operator = message.includes('X-Hecate-Operator-Token') || message.includes('operator');
  if (status === 401) signIn.value = { reason: message, runtime: !operator };
  else if (status === 403 && operator) signIn.value = { reason: message, runtime: false };
}
