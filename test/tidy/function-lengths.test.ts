import assert from 'node:assert/strict';
import { test } from 'node:test';
import { measureFunctions } from './function-lengths.ts';

const SOURCE = `
export async function one(
  name: string,
): Promise<{ kind: 'a' } | undefined> {
  if (name === '{') {
    return undefined;
  }
  switch (f(name)) {
    case g(1): {
      break;
    }
  }
}
class Two extends Base {
  method(): void {
    list.map((item) => {
      use(item);
    });
  }
  bare() {}
}
const shape = { key: { inner: call(1) } };
const short = (): { ok: boolean } => ({ ok: true });
`;

test('functions are found and measured from their first line to their last', () => {
  const measured = measureFunctions(SOURCE).map(({ line, lines }) => [line, lines]);
  measured.sort(([a = 0], [b = 0]) => a - b);
  assert.deepEqual(measured, [
    [2, 12],
    [15, 5],
    [16, 3],
  ]);
});
