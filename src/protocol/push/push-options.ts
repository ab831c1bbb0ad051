// The push endpoints of a coordinator, their projects, and the addresses that it may call.

import {
  type PipelineName,
  type ProjectName,
  parsePipelineName,
  parseProject,
} from '../../execution/names.ts';
import { InvalidInput } from '../../support/fault.ts';
import { readHiddenEntries } from '../../support/hidden-options.ts';
import {
  boundedText,
  integerOption,
  optionalBooleans,
  readList,
  readOptions,
} from '../../support/options.ts';
import { Signer, type SigningOptions } from '../messages/signing.ts';
import { isReserved } from '../rest/handling.ts';
import { type Allowed, requireAllowed } from './safe-address.ts';

export interface PushEndpoint {
  readonly url: string;
  /** Which executions it is given. */
  readonly pipelines: readonly string[];
  /** Of which project. Default: default. */
  readonly project?: string;
  /** How many at once. Default 10. */
  readonly capacity?: number;
  /** How long one call may take. Default 60 s. */
  readonly timeoutMs?: number;
  /** Keys of its own: who has those of another cannot call it. Default: those of all. */
  readonly signing?: SigningOptions;
}

export interface PushOptions {
  readonly endpoints: readonly PushEndpoint[];
  /** What is sent and what comes back is signed with these, unless an endpoint has its own; handlers have them too. */
  readonly signing?: SigningOptions;
  /** What may be called: hosts by name (`*.example.com` for all below), no private addresses and no http unless said. */
  readonly allow: {
    readonly hosts: readonly string[];
    readonly privateAddresses?: boolean;
    readonly http?: boolean;
  };
  /** An endpoint of which nothing was heard for so long is asked what it has. Default 30 s; it is called stuck after two. */
  readonly probeMs?: number;
  /** After `failuresMax` failed calls in a row, pause calls for `cooldownMs`. Default 5 and 30 s. */
  readonly circuit?: { readonly failuresMax?: number; readonly cooldownMs?: number };
}

export interface Endpoint {
  readonly url: URL;
  readonly pipelines: readonly PipelineName[];
  readonly project: ProjectName;
  readonly capacity: number;
  readonly timeoutMs: number;
  readonly signer: Signer;
}

export interface PushSettings {
  readonly endpoints: readonly Endpoint[];
  readonly allowed: Allowed;
  readonly probeMs: number;
  readonly circuit: { readonly failuresMax: number; readonly cooldownMs: number };
}

const HOST_MAX = 256;
const NAMES: readonly (keyof PushEndpoint)[] = [
  ...(['url', 'pipelines', 'project', 'capacity', 'timeoutMs', 'signing'] as const),
];

export function pushSettingsOf(given: PushOptions): PushSettings {
  const what = 'openServer: push';
  const options = readOptions(what, given, [
    ...['endpoints', 'signing', 'allow', 'circuit', 'probeMs'],
  ]);
  const allow = readOptions(`${what}.allow`, options.allow, ['hosts', 'privateAddresses', 'http']);
  const { privateAddresses = false, http = false } = allow;
  optionalBooleans(`${what}.allow`, { privateAddresses, http });
  const hosts = readList(`${what}.allow.hosts`, allow.hosts).map((each) =>
    boundedText(`${what}.allow.hosts`, each, HOST_MAX),
  );
  const allowed = { hosts, privateAddresses, http };
  const { circuit: circuitGiven = {} } = options;
  const circuit = readOptions(`${what}.circuit`, circuitGiven, ['failuresMax', 'cooldownMs']);
  const { failuresMax = 5, cooldownMs = 30_000 } = circuit;
  const { probeMs = 30_000, signing } = options;
  const shared = signing === undefined ? undefined : new Signer(`${what}.signing`, signing);
  return {
    endpoints: readList(`${what}.endpoints`, options.endpoints).map((each) =>
      endpointOf(each as PushEndpoint, allowed, shared),
    ),
    allowed,
    probeMs: integerOption(`${what}.probeMs`, probeMs, { min: 10, max: 86_400_000 }),
    circuit: {
      failuresMax: integerOption(`${what}.circuit.failuresMax`, failuresMax, {
        min: 1,
        max: 1_000,
      }),
      cooldownMs: integerOption(`${what}.circuit.cooldownMs`, cooldownMs, {
        min: 1,
        max: 86_400_000,
      }),
    },
  };
}

function endpointOf(given: PushEndpoint, allowed: Allowed, shared: Signer | undefined): Endpoint {
  const what = 'openServer: push.endpoints';
  readHiddenEntries(what, given, '{ url, pipelines }');
  const {
    url,
    project = 'default',
    capacity = 10,
    timeoutMs = 60_000,
    signing,
    ...rest
  } = readOptions(what, given, NAMES);
  const pipelines = readList(`${what}: pipelines`, rest.pipelines);
  if (pipelines.length === 0) throw new InvalidInput(`${what}: pipelines must have at least one.`);
  const signer = signing === undefined ? shared : new Signer(`${what}: signing`, signing);
  if (signer === undefined) {
    throw new InvalidInput(
      `${what}: signing is missing. Give the endpoint its own keys, or all of them some as push.signing.`,
    );
  }
  return {
    signer,
    url: requireAllowed(`${what}: url`, url, allowed),
    pipelines: pipelines.map((each) => openNameOf(`${what}: pipelines`, each)),
    project: parseProject(project),
    capacity: integerOption(`${what}: capacity`, capacity, { min: 1, max: 1_000 }),
    timeoutMs: integerOption(`${what}: timeoutMs`, timeoutMs, {
      ...{ min: 100, max: 3_600_000 },
    }),
  };
}

/**
 * The coordinator claims the pipelines that the engine adds by itself. No endpoint gets the
 * engine's other pipelines.
 */
function openNameOf(what: string, given: unknown): PipelineName {
  const name = parsePipelineName(boundedText(what, given, HOST_MAX));
  if (!isReserved(name)) return name;
  throw new InvalidInput(`${what}: "${name}" is the engine's own. Name pipelines of yours.`);
}

// A holder of an endpoint's keys can make calls for it. If endpoints of several projects share
// keys, each can make calls for the others, and answer in their place.

/** A warning for the operator. Undefined if every project has keys of its own. */
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
