// What a worker is to do to a workspace: asked for, and waited for if it takes longer than an answer does.
import { ask, get, Refused } from '../api/client';
import type { OperationItem, OperationResult } from '../api/types.gen';
import { say } from './notices';

/** operate asks for an operation on a run, and returns what became of its files. */
export async function operate(at: string, what: 'take' | 'restore', body: object): Promise<OperationResult> {
  const o = await settled(at, (await ask<OperationItem>('POST', `${at}/${what}`, body)).data);
  if (!o.result) throw new Error('The worker does not say what it has done.');
  return o.result;
}

/** settled returns an operation once it is done, and throws if it was not done. */
export async function settled(at: string, o: OperationItem): Promise<OperationItem> {
  if (isOpen(o)) say('It takes longer than usual; waiting.');
  while (isOpen(o)) {
    await new Promise((resolve) => setTimeout(resolve, 1000));
    o = await get<OperationItem>(`${at}/operations/${o.id}`);
  }
  if (o.status === 'unknown') throw new Error('Its worker vanished in the midst: look at the files before you try again.');
  if (o.status === 'refused') throw new Refused(409, o.error?.type ?? 'conflict', o.error?.message ?? 'The worker refused.');
  return o;
}

const isOpen = (o: OperationItem) => o.status === 'requested' || o.status === 'running';
