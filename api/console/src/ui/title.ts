import { useEffect } from 'preact/hooks';
import { title } from '../state/router';

/** useTitle gives the page its name for as long as it is shown. */
export function useTitle(name: string): void {
  useEffect(() => {
    title.value = name;
    return () => void (title.value = '');
  }, [name]);
}
