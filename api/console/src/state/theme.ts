// Dark, light, or what the system says.
import { effect, signal } from '@preact/signals';

export type Theme = 'auto' | 'dark' | 'light';
const key = 'hecate.theme';

export const theme = signal<Theme>((localStorage.getItem(key) as Theme | null) ?? 'auto');

effect(() => {
  const root = document.documentElement;
  if (theme.value === 'auto') {
    delete root.dataset.theme;
    localStorage.removeItem(key);
  } else {
    root.dataset.theme = theme.value;
    localStorage.setItem(key, theme.value);
  }
});

export function turnTheme(): void {
  const dark = theme.value === 'dark' || (theme.value === 'auto' && matchMedia('(prefers-color-scheme: dark)').matches);
  theme.value = dark ? 'light' : 'dark';
}
