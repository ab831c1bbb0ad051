// Who has the keys of an endpoint can make calls for it. Where endpoints of several projects have the same ones, each
// of them can make calls for the others, and answer in their place.

import type { ProjectName } from '../../execution/names.ts';
import type { Endpoint } from './push-options.ts';

/** For people; undefined where every project has keys of its own. */
export function sharedKeysWarning(endpoints: readonly Endpoint[]): string | undefined {
  const projects = new Set<ProjectName>();
  for (const [nth, one] of endpoints.entries()) {
    for (const other of endpoints.slice(nth + 1)) {
      if (one.project === other.project || !one.signer.sharesKeysWith(other.signer)) continue;
      projects.add(one.project).add(other.project);
    }
  }
  if (projects.size === 0) return undefined;
  const named = [...projects].map((each) => JSON.stringify(each)).join(', ');
  return `Endpoints of the projects ${named} are called with the same keys: who has those of one can make calls for the others. Give each project keys of its own (signing, or signingFile, of each endpoint).`;
}
