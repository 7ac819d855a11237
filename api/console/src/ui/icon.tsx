// Line drawings on a grid of 16.
const shapes = {
  brand: 'M4 2v12M12 2v12M4 8h8',
  tasks: 'M6 4h8M6 8h8M6 12h8M2.5 4h.01M2.5 8h.01M2.5 12h.01',
  inbox: 'M2 9l2-6h8l2 6v4H2zM2 9h3.5l1 2h3l1-2H14',
  history: 'M2.5 8a5.5 5.5 0 1 1 1.6 3.9M2.5 8l-1-1.8M2.5 8l1.9-.8M8 5v3.2l2.2 1.3',
  system: 'M2.5 3h11v4h-11zM2.5 9h11v4h-11zM5 5h.01M5 11h.01',
  key: 'M9.5 6.5a3 3 0 1 0-3 3l1 0v2h2v2h3',
  keyin: 'M8 8a2.8 2.8 0 1 0 0-5.6A2.8 2.8 0 0 0 8 8zM2.8 14a5.2 5.2 0 0 1 10.4 0',
  theme: 'M8 2a6 6 0 1 0 0 12zM8 2a6 6 0 0 1 0 12',
  help: 'M6 6a2 2 0 1 1 3 1.8c-.7.4-1 .8-1 1.7M8 12h.01',
  close: 'M4 4l8 8M12 4l-8 8',
  right: 'M6 3l5 5-5 5',
  plus: 'M8 3v10M3 8h10',
  bell: 'M4 11V7a4 4 0 0 1 8 0v4l1 1H3zM7 14h2',
  search: 'M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10zM11 11l3 3',
};

export function Icon({ name }: { name: keyof typeof shapes }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" aria-hidden="true" focusable="false">
      <path d={shapes[name]} />
    </svg>
  );
}
