// The coordinator's API, as the console calls it: with the cookie it signed in with, and with a header that
// no other page can send.

import type { Problem } from '../../../src/protocol/messages/problem.ts';
import type { ApiRequest } from '../../../src/protocol/messages/request.ts';

const PROJECT_KEY = 'holdfast.project';

/** What the coordinator said no to, in its own words. */
export class Refused extends Error {
  readonly status: number;
  readonly code: string;

  constructor({ status, code, detail }: Pick<Problem, 'status' | 'code' | 'detail'>) {
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
  const response = await ask(request, options);
  if (response.status === 204) return undefined as Answer;
  const answer: unknown = await response.json().catch(() => undefined);
  if (response.ok) return answer as Answer;
  throw new Refused(problemIn(answer, response.status));
}

/** What is no message: a document, as it is. */
export async function callBytes(
  request: ApiRequest<unknown>,
  options: CallOptions = {},
): Promise<Blob> {
  const response = await ask(request, options);
  if (response.ok) return response.blob();
  throw new Refused(problemIn(await response.json().catch(() => undefined), response.status));
}

async function ask(request: ApiRequest<unknown>, options: CallOptions): Promise<Response> {
  const { method, body } = request;
  const { key, signal } = options;
  const project = chosenProject();
  return fetch(pathOf(request), {
    method,
    // Asked for again each time; what has not changed is not sent again.
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
      detail: 'The coordinator does not answer. Is it running? It is asked again by itself.',
    });
  });
}

function problemIn(answer: unknown, status: number): Pick<Problem, 'status' | 'code' | 'detail'> {
  const { code, detail } = (answer ?? {}) as Partial<Problem>;
  if (typeof code === 'string' && typeof detail === 'string') return { status, code, detail };
  return { status, code: 'fault', detail: `The coordinator answered ${status} without a reason.` };
}

/** For keys of all projects. */
export function chosenProject(): string | undefined {
  return window.localStorage.getItem(PROJECT_KEY) ?? undefined;
}

export function chooseProject(name: string | undefined): void {
  if (name === undefined) window.localStorage.removeItem(PROJECT_KEY);
  else window.localStorage.setItem(PROJECT_KEY, name);
}

/** With what somebody has typed, which the coordinator checks. */
export function withTyped<Answer>(
  request: ApiRequest<Answer>,
  typed: NonNullable<ApiRequest<Answer>['query']>,
): ApiRequest<Answer> {
  return { ...request, query: { ...request.query, ...typed } };
}

/** With what is undefined or empty left out. */
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
