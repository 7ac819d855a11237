// What a page asks for when it is opened, and again when something has changed.
import { useEffect, useState } from 'preact/hooks';
import { inOneSentence } from '../api/client';

export interface Loaded<T> {
  data: T | undefined;
  failed: string;
  reload: () => Promise<void>;
}

/** useLoad asks when it is first shown, when key is another one, and every ms milliseconds while somebody looks, if that is given. */
export function useLoad<T>(ask: () => Promise<T>, key: string, ms = 0): Loaded<T> {
  const [state, setState] = useState<{ data: T | undefined; failed: string; key: string }>({ data: undefined, failed: '', key });
  const load = (here: () => boolean = () => true) =>
    ask().then(
      (data) => here() && setState({ data, failed: '', key }),
      (e) => here() && setState((old) => ({ data: old.key === key ? old.data : undefined, failed: inOneSentence(e), key })),
    ) as Promise<void>;
  useEffect(() => {
    let there = true;
    const look = () => document.hidden || void load(() => there);
    look();
    const timer = ms ? setInterval(look, ms) : undefined;
    if (ms) document.addEventListener('visibilitychange', look);
    return () => {
      there = false;
      clearInterval(timer);
      document.removeEventListener('visibilitychange', look);
    };
  }, [key]);
  return { data: state.key === key ? state.data : undefined, failed: state.key === key ? state.failed : '', reload: () => load() };
}
