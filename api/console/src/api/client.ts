// Requests to the API, and what its answers mean.
import { tokens, askForToken } from '../state/session';
import type { Error as ErrorAnswer } from './types.gen';

export const base = '/hecate/v1';

/** Refused is an answer of the server that is no success, or its absence (status 0). */
export class Refused extends Error {
  constructor(
    readonly status: number,
    readonly type: string,
    message: string,
    readonly action = '',
    readonly requestId = '',
  ) {
    super(message);
  }
}

/** Answer is a success: its data, and the position of the log that it shows. */
export interface Answer<T> {
  data: T;
  /** body is the answer as a whole: pages say there how they go on. */
  body: unknown;
  status: number;
  position: string;
}

/** tokenHeaders prove who asks, as far as somebody signed in. */
export function tokenHeaders(): Record<string, string> {
  const out: Record<string, string> = {};
  if (tokens.value.runtime) out['X-Hecate-Runtime-Token'] = tokens.value.runtime;
  if (tokens.value.operator) out['X-Hecate-Operator-Token'] = tokens.value.operator;
  return out;
}

/** ask sends a request and returns the whole answer. */
export async function ask<T>(method: string, path: string, body?: unknown): Promise<Answer<T>> {
  const headers = tokenHeaders();
  if (method === 'POST') headers['Idempotency-Key'] = randomKey();
  const init: RequestInit = { method, headers, cache: 'no-store' };
  if (body !== undefined) {
    headers['Content-Type'] = 'application/json';
    init.body = JSON.stringify(body);
  }
  const response = await send(path, init);
  if (!response.ok) throw await refusal(response);
  const parsed = response.status === 204 ? undefined : ((await response.json()) as { data: T });
  return { data: parsed?.data as T, body: parsed, status: response.status, position: response.headers.get('Hecate-Position') ?? '' };
}

/** send asks again when no answer comes, where the key makes sure that what was done is not done twice. */
async function send(path: string, init: RequestInit): Promise<Response> {
  for (const wait of init.method === 'DELETE' ? [] : [400, 1500]) {
    try {
      return await fetch(base + path, init);
    } catch {
      await new Promise((resolve) => setTimeout(resolve, wait));
    }
  }
  return fetch(base + path, init).catch(() => {
    throw new Refused(0, 'unreachable', 'The server does not answer.', 'Check that it runs, and try again.');
  });
}

export async function get<T>(path: string): Promise<T> {
  return (await ask<T>('GET', path)).data;
}

/** getStream returns the bytes of an answer as they come. */
export async function getStream(path: string, stop: AbortSignal): Promise<ReadableStream<Uint8Array>> {
  const response = await send(path, { headers: tokenHeaders(), cache: 'no-store', signal: stop });
  if (!response.ok) throw await refusal(response);
  return response.body!;
}

export async function post<T>(path: string, body?: unknown): Promise<T> {
  return (await ask<T>('POST', path, body)).data;
}

/** refusal reads why a request was refused, and asks for a token if one would help. */
export async function refusal(response: Response): Promise<Refused> {
  const text = await response.text();
  let e: Partial<ErrorAnswer['error']> = {};
  try {
    e = (JSON.parse(text) as ErrorAnswer).error;
  } catch {
    // A proxy answered, not the server: its status is all there is.
  }
  const out = new Refused(response.status, e.type ?? 'unknown', e.message ?? `The server answered ${response.status}.`, e.operator_action, e.request_id);
  askForToken(out.status, out.message);
  return out;
}

function randomKey(): string {
  // randomUUID exists only in secure contexts, which a server in the next room is not.
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (b) => b.toString(16).padStart(2, '0')).join('');
}

/** inOneSentence says what went wrong, and what to do about it if anybody knows. */
export function inOneSentence(e: unknown): string {
  if (!(e instanceof Refused)) return e instanceof Error ? e.message : String(e);
  return e.action ? `${e.message} ${e.action}` : e.message;
}
