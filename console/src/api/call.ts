// Calls to the coordinator's API, with the sign-in cookie and a header that other sites cannot send.

import type { ProblemMessage } from '../../../src/protocol/messages/problem.ts';
import type { ApiRequest } from '../../../src/protocol/messages/request.ts';

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
  const response = await send(request, options);
  if (response.status === 204) return undefined as Answer;
  const answer: unknown = await response.json().catch(() => undefined);
  if (response.ok) return answer as Answer;
  throw new Refused(problemIn(answer, response.status));
}

/** Returns the body as it was stored, without parsing it. */
export async function callBytes(
  request: ApiRequest<unknown>,
  options: CallOptions = {},
): Promise<Blob> {
  const response = await send(request, options);
  if (response.ok) return response.blob();
  throw new Refused(problemIn(await response.json().catch(() => undefined), response.status));
}

async function send(request: ApiRequest<unknown>, options: CallOptions): Promise<Response> {
  const { method, body } = request;
  const { key, signal } = options;
  const project = chosenProject();
  return fetch(pathOf(request), {
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
    ...(signal === undefined ? {} : { signal }),
  }).catch((cause: unknown) => {
    if (signal?.aborted === true) throw cause;
    throw new Refused({
      status: 0,
      code: 'unreachable',
      detail:
        method === 'GET'
          ? "Can't reach the coordinator. Retrying…"
          : 'The coordinator did not respond. It may or may not have made the change. Reload, and check before you repeat it.',
    });
  });
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
