// Changes of files that are looked at first, and done as they were shown.
import { useEffect, useRef, useState } from 'preact/hooks';
import { inOneSentence, Refused } from '../api/client';
import type { OperationResult } from '../api/types.gen';
import { operate } from './operation';

export interface Review {
  /** shown is the preview of what was asked for last; undefined until it is there. */
  shown: OperationResult | undefined;
  /** done is what was done, until something else is asked for. */
  done: OperationResult | undefined;
  failed: string;
  /** outdated is whether files have changed since somebody looked, so that shown is another preview. */
  outdated: boolean;
  /** go does what is shown. */
  go(): Promise<void>;
  /** again looks once more. */
  again(): void;
}

interface State extends Pick<Review, 'shown' | 'done' | 'failed' | 'outdated'> {
  /** of is the plan that it is about. */
  of: string;
}

/**
 * useReview previews a plan, and anew whenever it is another one. An undefined plan asks for nothing. What came of one
 * plan never stands for another.
 */
export function useReview(at: string, what: 'take' | 'restore', plan: object | undefined): Review {
  const [looks, setLooks] = useState(0);
  const key = JSON.stringify([at, what, plan ?? null, looks]);
  const nothing: State = { of: key, shown: undefined, done: undefined, failed: '', outdated: false };
  const [kept, setState] = useState(nothing);
  const state = kept.of === key ? kept : nothing;
  const wanted = useRef('');

  const put = (change: Partial<State>) => {
    if (wanted.current === key) setState({ ...nothing, ...change });
  };
  const look = async (outdated: boolean) => {
    try {
      put({ shown: await operate(at, what, { ...plan, preview: true }), outdated });
    } catch (e) {
      put({ failed: inOneSentence(e) });
    }
  };
  useEffect(() => {
    wanted.current = key;
    const timer = plan && setTimeout(() => void look(false), 250); // while somebody still chooses, nobody need look
    return () => {
      clearTimeout(timer);
      wanted.current = '';
    };
  }, [key]);

  const go = async () => {
    if (!state.shown) return;
    try {
      put({ done: await operate(at, what, { ...plan, digest: state.shown.digest }) });
    } catch (e) {
      if (e instanceof Refused && e.type === 'preview_outdated') return look(true);
      put({ shown: state.shown, failed: inOneSentence(e) });
    }
  };
  const { of: _, ...seen } = state;
  return { ...seen, go, again: () => setLooks(looks + 1) };
}
