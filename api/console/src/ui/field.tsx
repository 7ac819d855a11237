// Fields of forms: a label, what it means, and what is wrong with it, tied together for those who do not see them.
import { useEffect, useId, useRef } from 'preact/hooks';

interface Common {
  label: string;
  name: string;
  value: string;
  set: (value: string) => void;
  error?: string | undefined;
  hint?: string;
}

interface FieldProps extends Common {
  lines?: number;
  mono?: boolean;
  numeric?: boolean;
  autofocus?: boolean;
  suggest?: string[];
  placeholder?: string;
  /** late is whether only what was written to its end counts, and not each letter. */
  late?: boolean;
}

export function Field({ label, name, value, set, error, hint, lines, mono, numeric, autofocus, suggest, placeholder, late }: FieldProps) {
  const id = useId();
  const input = useRef<HTMLInputElement & HTMLTextAreaElement>(null);
  useEffect(() => {
    if (autofocus) input.current?.focus();
  }, []);
  const shared = {
    ref: input, id, name, value, class: mono ? 'mono' : '', 'aria-invalid': Boolean(error), 'aria-describedby': `${id}-about`,
    spellcheck: !mono && !numeric, placeholder, [late ? 'onChange' : 'onInput']: (e: { currentTarget: { value: string } }) => set(e.currentTarget.value),
  };
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {lines ? (
        <textarea {...shared} rows={lines} />
      ) : (
        <input {...shared} type="text" autocomplete="off" inputMode={numeric ? 'decimal' : 'text'} list={suggest?.length ? `${id}-list` : undefined} />
      )}
      {suggest && suggest.length > 0 && (
        <datalist id={`${id}-list`}>{suggest.map((s) => <option key={s} value={s} />)}</datalist>
      )}
      <About id={id} error={error} hint={hint} />
    </div>
  );
}

export function Pick({ label, name, value, set, error, hint, options }: Common & { options: [string, string][] }) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <select id={id} name={name} value={value} aria-invalid={Boolean(error)} aria-describedby={`${id}-about`} onChange={(e) => set(e.currentTarget.value)}>
        {options.map(([v, text]) => <option key={v} value={v}>{text}</option>)}
      </select>
      <About id={id} error={error} hint={hint} />
    </div>
  );
}

/** About always takes its line, so that nothing moves when something is wrong. */
function About({ id, error, hint }: { id: string; error: string | undefined; hint: string | undefined }) {
  return (
    <small id={`${id}-about`} class={error ? 'field-error' : ''} aria-live="polite">
      {error ?? hint ?? '\u00a0'}
    </small>
  );
}

export function Switch({ label, on, set }: { label: string; on: boolean; set: (on: boolean) => void }) {
  return (
    <label class="switch">
      <input type="checkbox" checked={on} onChange={(e) => set(e.currentTarget.checked)} />
      <span>{label}</span>
    </label>
  );
}
