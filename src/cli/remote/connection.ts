// The coordinator to call, and the key to use.

import { callOperation } from '../../client/calls.ts';
import { HoldfastClient } from '../../client/client.ts';
import { CLIENT_VARIABLES, environmentWith } from '../../support/environment.ts';
import { Fault } from '../../support/fault.ts';
import { shownUrl } from '../../support/hidden-options.ts';
import { isUnsent, networkCode, untrustedText } from '../../support/no-reply.ts';
import { present } from '../../support/options.ts';
import { ownCommand } from '../../support/process-about.ts';
import { type Flag, type Typed, UsageProblem } from '../command.ts';

export const URL_DEFAULT = 'http://127.0.0.1:7433';

/** The flags of every command that calls a coordinator. */
export const CONNECTION_FLAGS: Readonly<Record<string, Flag>> = {
  url: {
    value: 'url',
    help: `URL of the coordinator (default ${URL_DEFAULT})`,
    variable: 'HOLDFAST_URL',
  },
  'access-key': {
    value: 'key',
    help: 'Access key, hf_…; other users of this machine can see flags, so prefer HOLDFAST_KEY (default none)',
  },
  project: {
    value: 'name',
    help: 'Project, for a key of all projects (default "default")',
    variable: 'HOLDFAST_PROJECT',
  },
  json: { help: 'Print JSON, one object per line' },
};

export async function clientFor(typed: Typed): Promise<HoldfastClient> {
  const connection = await connectionFor(typed);
  return new HoldfastClient({ ...connection, fetch: fetchFrom(connection.url) });
}

interface CoordinatorAddress {
  readonly url: string;
  readonly key?: string;
  readonly project?: string;
}

export async function connectionFor(typed: Typed): Promise<CoordinatorAddress> {
  const variables = environmentWith('HOLDFAST_');
  await refuseUnknown(variables);
  const url = urlFor(typed);
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol)) {
    throw new UsageProblem(
      `The URL of the coordinator must be such as ${URL_DEFAULT}; got "${url}". Pass --url, or set HOLDFAST_URL.`,
    );
  }
  const key = typed.text('access-key') ?? variables['HOLDFAST_KEY'];
  const project = projectFor(typed);
  return { url, ...present({ key, project }) };
}

/**
 * Explains how to reach a coordinator if none was reached. The client reports a connection that
 * broke after a write was sent, because the write may have had its effect.
 */
export function fetchFrom(url: string): typeof fetch {
  return (target, init) =>
    fetch(target, init).catch((cause: unknown) => {
      const isRead = (init?.method ?? 'GET') === 'GET';
      if (init?.signal?.aborted !== true && (isRead || isUnsent(cause)))
        throw unreachable(url, cause);
      throw cause;
    });
}

export function urlFor(typed: Typed): string {
  return typed.text('url') ?? environmentWith('HOLDFAST_')['HOLDFAST_URL'] ?? URL_DEFAULT;
}

/** The project from the flag or the environment. */
export function projectFor(typed: Typed): string | undefined {
  return typed.text('project') ?? environmentWith('HOLDFAST_')['HOLDFAST_PROJECT'];
}

const NAMED_MAX = 10;

/** A hint after an empty result: without a project, a key for all projects looks in "default". */
export async function projectHint(typed: Typed): Promise<string | undefined> {
  if (projectFor(typed) !== undefined) return undefined;
  const client = await clientFor(typed);
  const caller = await callOperation(client, 'GET /v1/caller').catch(() => undefined);
  const others = caller?.projects?.filter((name) => name !== caller.project) ?? [];
  const [first] = others;
  if (caller === undefined || first === undefined) return undefined;
  const more = others.length > NAMED_MAX ? ', …' : '';
  return `The command used project "${caller.project}", the default. Other projects: ${others.slice(0, NAMED_MAX).join(', ')}${more}. To use one, pass --project ${first}, or set HOLDFAST_PROJECT=${first}.`;
}

/** A hint for a caller that was refused and sent no key. */
export function keyHint(typed: Typed): string | undefined {
  const key = typed.text('access-key') ?? environmentWith('HOLDFAST_')['HOLDFAST_KEY'];
  if (key !== undefined && key !== '') return undefined;
  return `HOLDFAST_KEY is not set in this shell. An admin creates keys with "${ownCommand()} keys create". The first start of "holdfast serve" printed the first key.`;
}

/** With a misspelt HOLDFAST_URL, the command would call another coordinator than the user meant. */
async function refuseUnknown(variables: Readonly<Record<string, string>>): Promise<void> {
  if (Object.keys(variables).every((name) => CLIENT_VARIABLES.includes(name))) return;
  const { environmentSources } = await import('../../server/config.ts');
  environmentSources(variables);
}

function unreachable(url: string, cause: unknown): Fault {
  const code = networkCode(cause);
  const why = code === '' ? '' : ` (${code})`;
  const what =
    untrustedText(cause) ??
    `Start one with "${ownCommand()} dev" or "${ownCommand()} serve", or pass its address: --url, or HOLDFAST_URL.`;
  const where = URL.canParse(url) ? shownUrl(new URL(url)) : url;
  return new Fault(
    'coordinator-unreachable',
    `No coordinator responds at ${where}${why}. Nothing was done. ${what}`,
    { cause },
  );
}
