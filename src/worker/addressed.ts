// For whom a call is: a handler does nothing that was meant for another endpoint, or for another project.

import { type ProjectName, parseProject } from '../execution/names.ts';
import type { PushCommand } from '../protocol/messages/push.ts';
import { InvalidInput } from '../support/fault.ts';
import { shownUrl } from '../support/hidden-options.ts';
import { requireUrl } from '../support/options.ts';

export interface Address {
  /** As the coordinator calls it. */
  readonly audience: URL;
  /** Undefined: of any. */
  readonly project: ProjectName | undefined;
}

export function addressOf(given: {
  readonly audience: string;
  readonly project?: string;
}): Address {
  const { audience, project } = given;
  // Whoever calls chooses what the request says: a call for another endpoint could be played here (M-15).
  if (audience === undefined) {
    throw new InvalidInput(
      'pushHandler: audience is required: pass the URL of this endpoint, as the coordinator calls it.',
    );
  }
  requireUrl('pushHandler: audience', audience);
  return {
    audience: new URL(audience),
    project: project === undefined ? undefined : parseProject(project),
  };
}

const WHY_MAX = 1_024;

/** Undefined when it is for this one. */
export function misdirectionOf(
  { audience, project }: Address,
  { audience: called, project: of, drive }: PushCommand,
): string | undefined {
  const isOfProject = of === (drive?.claimed.execution.project ?? of);
  if (!isOfProject || (project !== undefined && of !== project)) {
    return `This endpoint is not for project "${of}".`.slice(0, WHY_MAX);
  }
  // Whether it came by TLS is not known behind a proxy.
  const isHere = URL.canParse(called) && placeOf(new URL(called)) === placeOf(audience);
  if (isHere) return undefined;
  const why = `The call is for ${called}, and this endpoint is ${shownUrl(audience)}. Pass the URL that the coordinator calls as pushHandler({ audience }).`;
  return why.slice(0, WHY_MAX);
}

function placeOf({ host, pathname }: URL): string {
  return `${host}${pathname}`;
}
