// As much of a test framework as these tests need. The Go test that bundles them calls run.

interface Test {
  name: string;
  body: () => void | Promise<void>;
}

const tests: Test[] = [];

export function test(name: string, body: Test['body']): void {
  tests.push({ name, body });
}

/** same fails unless both are the same as JSON: of a map or a set, look at its entries. */
export function same(got: unknown, want: unknown, what = ''): void {
  const [a, b] = [JSON.stringify(got, null, 1), JSON.stringify(want, null, 1)];
  if (a !== b) throw new Error(`${what && what + ': '}got ${a}, want ${b}`);
}

export interface Result {
  name: string;
  /** fault is what went wrong; empty if nothing did. */
  fault: string;
}

/** run runs all tests, one after another. */
export async function run(): Promise<Result[]> {
  const out: Result[] = [];
  for (const t of tests) {
    let fault = '';
    try {
      await t.body();
    } catch (e) {
      fault = e instanceof Error ? (e.stack ?? e.message) : String(e);
    }
    out.push({ name: t.name, fault });
  }
  return out;
}
