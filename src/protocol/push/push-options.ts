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
  wordsIn,
} from '../../support/options.ts';
import { type Allowed, requireAllowed } from '../../support/safe-address.ts';
import { Signer, type SigningOptions } from '../messages/signing.ts';
import { isReserved } from '../rest/handling.ts';

/** An endpoint that the coordinator calls with executions. */
export interface PushEndpoint {
  /** The URL of the endpoint. */
  readonly url: string;
  /** The pipelines whose executions it gets. */
  readonly pipelines: readonly string[];
  /** The project. Default `default`. */
  readonly project?: string;
  /** Calls at once. Default 10. */
  readonly capacity?: number;
  /** Time limit of one call in milliseconds. Default 60,000. */
  readonly timeoutMs?: number;
  /** Keys of this endpoint alone. Default: the keys of all endpoints. */
  readonly signing?: SigningOptions;
}

/** Push endpoints of a coordinator. */
export interface PushOptions {
  /** The endpoints. */
  readonly endpoints: readonly PushEndpoint[];
  /** Keys that sign calls and responses. The handlers have them too. */
  readonly signing?: SigningOptions;
  /**
   * Hosts that may be called. `hosts` are names, such as `api.example.com` or `*.example.com`.
   * `privateAddresses` and `http` (HTTP without TLS) default to false.
   */
  readonly allow: {
    readonly hosts: readonly string[];
    readonly privateAddresses?: boolean;
    readonly http?: boolean;
  };
  /**
   * Milliseconds without a response after which the coordinator asks an endpoint for its pipelines.
   * After two such periods it counts as stuck. Default 30,000.
   */
  readonly probeMs?: number;
  /**
   * After `failuresMax` failed calls in a row (default 5), the endpoint is not called for
   * `cooldownMs` milliseconds (default 30,000).
   */
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
const NAMES: readonly (keyof PushEndpoint)[] = wordsIn(
  'url pipelines project capacity timeoutMs signing',
);

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
  const allowed = { hosts, privateAddresses, http, setting: 'push.allow' };
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
      `${what}: signing is required. Pass keys for this endpoint, or push.signing for all endpoints.`,
    );
  }
  return {
    signer,
    url: requireAllowed(`${what}: url`, url, allowed),
    pipelines: pipelines.map((each) => openNameOf(`${what}: pipelines`, each)),
    project: parseProject(project),
    capacity: integerOption(`${what}: capacity`, capacity, { min: 1, max: 1_000 }),
    timeoutMs: integerOption(`${what}: timeoutMs`, timeoutMs, { min: 100, max: 3_600_000 }),
  };
}

/**
 * The coordinator claims the pipelines that the engine adds by itself. No endpoint gets the
 * engine's other pipelines.
 */
function openNameOf(what: string, given: unknown): PipelineName {
  const name = parsePipelineName(boundedText(what, given, HOST_MAX));
  if (!isReserved(name)) return name;
  throw new InvalidInput(`${what}: "${name}" is reserved for the engine. Pass your own pipelines.`);
}

// A holder of an endpoint's keys can make calls for it. If endpoints of several projects share
// keys, each can make calls for the others, and respond in their place.

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
  return `Endpoints of the projects ${named} share signing keys, so a holder of the keys of one can forge calls to the others. Give each project keys of its own: signing, or signingFile, of each endpoint.`;
}
