// Sessions as members of something: a pool, a service. What they belong to is in their metadata, under
// a name that users' own metadata does not have.

import type { KernelStore, SessionInspection } from '../lease/port.ts';

export const POOL_METADATA = 'holdfast.pool';
export const SERVICE_METADATA = 'holdfast.service';

const PAGE = 500;

/** All sessions whose metadata has this name and value, ended ones too when asked. */
export async function sessionsWith(
  store: KernelStore,
  wanted: { readonly name: string; readonly value: string; readonly all?: boolean },
): Promise<readonly SessionInspection[]> {
  const found: SessionInspection[] = [];
  let after: SessionInspection['session']['id'] | undefined;
  for (;;) {
    const page = await store.sessions.list({
      limit: PAGE,
      ...(after === undefined ? {} : { after }),
      ...(wanted.all === true ? { all: true } : {}),
    });
    found.push(...page.filter((each) => each.session.metadata[wanted.name] === wanted.value));
    after = page.at(-1)?.session.id;
    if (page.length < PAGE) return found;
  }
}
