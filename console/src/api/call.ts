// Calls to the coordinator's API, with the sign-in cookie and a header that other sites cannot send. Each
// has a time limit: a frozen coordinator accepts connections and never responds.

import type { ProblemMessage } from '../../../src/protocol/messages/problem.ts';
import type { ApiRequest } from '../../../src/protocol/messages/request.ts';
import { noteReceived } from './contact.ts';

const PROJECT_KEY = 'holdfast.project';

/** A request that the coordinator refused, with its own message. */
export class Refused extends Error {
  readonly status: number;
  readonly code: string;

  constructor({ status, code, detail }: Pick<ProblemMessage, 'status' | 'code' | 'detail'>) {
    super(detail);
    this.status = status;
    this.code = code;
  }
}

export interface CallOptions {
  readonly key?: string;
  readonly signal?: AbortSignal;
}

export async function call<Answer>(
  request: ApiRequest<Answer>,
  options: CallOptions = {},
): Promise<Answer> {
  return exchange(request, options, async (response) =>
    response.status === 204 ? (undefined as Answer) : ((await response.json()) as Answer),
  );
}

/** Returns the body as it was stored, without parsing it. */
export async function callBytes(
  request: ApiRequest<unknown>,
  options: CallOptions = {},
): Promise<Blob> {
  return exchange(request, options, (response) => response.blob());
}

/** How long a response may take to begin: a read is quick, an operation may wait for a worker. */
const BEGIN_MS = { read: 5_000, operation: 60_000 } as const;
/** How long the body may take after that, on a slow line. */
const BODY_MS = 60_000;

async function exchange<Answer>(
  request: ApiRequest<unknown>,
  { key, signal }: CallOptions,
  read: (response: Response) => Promise<Answer>,
): Promise<Answer> {
  const deadline = new AbortController();
  const endIn = (ms: number): number => window.setTimeout(() => deadline.abort(), ms);
  let timer = endIn(BEGIN_MS[request.method === 'GET' ? 'read' : 'operation']);
  const signals = [deadline.signal, ...(signal === undefined ? [] : [signal])];
  try {
    const response = await fetch(pathOf(request), {
      ...initOf(request, key),
      signal: AbortSignal.any(signals),
    });
    window.clearTimeout(timer);
    timer = endIn(BODY_MS);
    noteReceived();
    if (response.ok) return await read(response);
    const answer: unknown = await response.json().catch(() => undefined);
    throw new Refused(problemIn(answer, response.status));
  } catch (cause) {
    if (cause instanceof Refused || signal?.aborted === true) throw cause;
    throw new Refused({ status: 0, code: 'unreachable', detail: LOST[effectOf(request)] });
  } finally {
    window.clearTimeout(timer);
  }
}

const LOST = {
  none: "Can't reach the coordinator. Retrying…",
  unknown:
    'The coordinator did not respond. It may or may not have made the change. Reload, and check before you repeat it.',
} as const;

function effectOf({ method }: ApiRequest<unknown>): keyof typeof LOST {
  return method === 'GET' ? 'none' : 'unknown';
}

function initOf({ method, body }: ApiRequest<unknown>, key: string | undefined): RequestInit {
  const project = chosenProject();
  return {
    method,
    // Revalidate each time; the coordinator sends 304 if nothing changed.
    cache: 'no-cache',
    credentials: 'same-origin',
    headers: {
      'holdfast-console': '1',
      ...(project === undefined ? {} : { 'holdfast-project': project }),
      ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  };
}

function problemIn(
  answer: unknown,
  status: number,
): Pick<ProblemMessage, 'status' | 'code' | 'detail'> {
  const { code, detail } = (answer ?? {}) as Partial<ProblemMessage>;
  if (typeof code === 'string' && typeof detail === 'string') return { status, code, detail };
  return {
    status,
    code: 'fault',
    detail: `The coordinator returned HTTP ${status} without details.`,
  };
}

/** The project that the user selected; only keys for all projects can select one. */
export function chosenProject(): string | undefined {
  return window.localStorage.getItem(PROJECT_KEY) ?? undefined;
}

export function chooseProject(name: string | undefined): void {
  if (name === undefined) window.localStorage.removeItem(PROJECT_KEY);
  else window.localStorage.setItem(PROJECT_KEY, name);
}

/** Adds query values that the user typed; the coordinator validates them. */
export function withTyped<Answer>(
  request: ApiRequest<Answer>,
  typed: NonNullable<ApiRequest<Answer>['query']>,
): ApiRequest<Answer> {
  return { ...request, query: { ...request.query, ...typed } };
}

/** Leaves out undefined and empty values. */
export function pathOf({ path, query = {} }: ApiRequest<unknown>): string {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    const values = Array.isArray(value) ? value : [value];
    for (const each of values) {
      if (each !== undefined && each !== '') params.append(name, String(each));
    }
  }
  const text = params.toString();
  return text === '' ? path : `${path}?${text}`;
}
