import assert from 'node:assert/strict';
import { test } from 'node:test';
import { filteredPage } from './page-size.ts';

test('a page ends at its edge, unless the range of the query ends before it', async () => {
  const pageOf = (query: { readonly limit: number; readonly downTo?: string }) =>
    filteredPage(query, {
      edge: async () => 'm',
      list: async ({ downTo = 'a' }) => ['z', 'p', 'c'].filter((id) => id >= downTo),
      idOf: (id: string) => id,
    });
  assert.deepEqual(await pageOf({ limit: 5 }), { items: ['z', 'p'], cursor: 'm' });
  assert.deepEqual(await pageOf({ limit: 5, downTo: 'o' }), { items: ['z', 'p'] });
  assert.deepEqual(await pageOf({ limit: 5, downTo: 'b' }), { items: ['z', 'p'], cursor: 'm' });
});
