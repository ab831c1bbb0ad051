// For whom a call is: a handler does nothing that was meant for another endpoint, or for another project.

import { type ProjectName, parseProject } from '../execution/names.ts';
import type { PushCommand } from '../protocol/messages/push.ts';
import { shownUrl } from '../support/hidden-options.ts';
import { requireUrl } from '../support/options.ts';

export interface Address {
  /** As the coordinator calls it. Undefined: as the request says that it was called. */
  readonly audience: URL | undefined;
  /** Undefined: of any. */
  readonly project: ProjectName | undefined;
}

export function addressOf(given: {
  readonly audience?: string;
  readonly project?: string;
}): Address {
  const { audience, project } = given;
  if (audience !== undefined) requireUrl('pushHandler: audience', audience);
  return {
    audience: audience === undefined ? undefined : new URL(audience),
    project: project === undefined ? undefined : parseProject(project),
  };
}

const WHY_MAX = 1_024;

/** Undefined when it is for this one. */
export function misdirectionOf(
  { audience, project }: Address,
  { audience: called, project: of, drive }: PushCommand,
  requestUrl: string,
): string | undefined {
  const isOfProject = of === (drive?.claimed.execution.project ?? of);
  if (!isOfProject || (project !== undefined && of !== project)) {
    return `This endpoint is not for project "${of}".`.slice(0, WHY_MAX);
  }
  const here = audience ?? new URL(requestUrl);
  // Whether it came by TLS is not known behind a proxy.
  const isHere = URL.canParse(called) && placeOf(new URL(called)) === placeOf(here);
  if (isHere) return undefined;
  const why = `The call is for ${called}, and this endpoint is ${shownUrl(here)}. If that is what a proxy makes of it, say pushHandler({ audience }).`;
  return why.slice(0, WHY_MAX);
}

function placeOf({ host, pathname }: URL): string {
  return `${host}${pathname}`;
}
