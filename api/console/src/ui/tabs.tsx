// Links to the views of one page.
import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';

export interface Tab {
  href: string;
  current: boolean;
  children: ComponentChildren;
}

/** Tabs keeps the link of the view that is shown in sight, where not all of them have room. */
export function Tabs({ label, tabs }: { label: string; tabs: Tab[] }) {
  const nav = useRef<HTMLElement>(null);
  const first = useRef<string | undefined>(undefined);
  const at = tabs.find((t) => t.current)?.href;
  useEffect(() => {
    const [box, link] = [nav.current, nav.current?.querySelector<HTMLElement>('[aria-current]')];
    if (box && link) box.scrollLeft = link.offsetLeft - box.offsetLeft - (box.clientWidth - link.offsetWidth) / 2;
    const top = box?.parentElement?.getBoundingClientRect().top ?? 0;
    if (top < 0 && first.current !== at) box!.parentElement!.scrollIntoView(); // another view begins at its beginning
    first.current = at;
  }, [at]);
  return (
    <nav class="tabs" ref={nav} aria-label={label}>
      {tabs.map((t) => <a key={t.href} href={t.href} aria-current={t.current ? 'page' : undefined}>{t.children}</a>)}
    </nav>
  );
}
