// Shared parts of the client.

import type { ProblemMessage } from '../protocol/messages/problem.ts';
import {
  type Address,
  type RequestIfAny,
  type ResponseAt,
  requestTo,
} from '../protocol/messages/request.ts';
import type { Code } from '../support/codes/catalogue.ts';
import { Fault } from '../support/fault.ts';
import { taggedOf, toText } from '../support/value.ts';

/**
 * The coordinator refused the request. `code` is stable, for programs; the message is for people.
 */
export class CallRefused extends Fault {
  override readonly name = 'CallRefused';
  /** The HTTP status. */
  readonly status: number;
  /** The body of the response (RFC 9457). */
  readonly problem: ProblemMessage;

  constructor(problem: ProblemMessage) {
    // A newer coordinator may send codes that this build does not know.
    super(problem.code as Code, problem.detail);
    this.status = problem.status;
    this.problem = problem;
  }
}

/** One page of a list. */
export interface Page<Item> {
  /** The items of this page. */
  readonly items: readonly Item[];
  /** Pass it to get the next page. Absent on the last page. */
  readonly cursor?: string;
}

/** Options of a request. */
export interface CallOptions {
  /** The HTTP method. Default `GET`. */
  readonly method?: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** The query parameters. Undefined ones are left out. */
  readonly query?: Readonly<
    Record<string, string | number | boolean | readonly string[] | undefined>
  >;
  /** The body, sent as JSON. */
  readonly body?: unknown;
  /** Aborts the request. */
  readonly signal?: AbortSignal;
}

/** Sends the requests of the client's parts. */
export interface Calls {
  call<Body>(path: string, options?: CallOptions): Promise<Body>;
  /** The response unchanged. */
  bytes(path: string, options?: CallOptions): Promise<Uint8Array>;
}

/** The page of a list. */
export interface PageQuery {
  /** The `cursor` of the previous page. */
  readonly cursor?: string | undefined;
  /** Items per page. */
  readonly limit?: number | undefined;
}

/** Calls an operation. Throws CallRefused. */
export function callOperation<At extends Address>(
  client: Pick<Calls, 'call'>,
  at: At,
  ...request: RequestIfAny<At>
): Promise<ResponseAt<At>> {
  const { path, ...options } = requestTo(at, ...request);
  return client.call(path, options);
}

// Reads a response: a body, or a problem.

export async function bodyOf(response: Response): Promise<unknown> {
  const text = await response.text();
  if (text === '') return undefined;
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw notOurs(response, cause);
  }
}

export function refusalOf(response: Response, body: unknown): Fault {
  const isProblem = typeof body === 'object' && body !== null && 'code' in body && 'detail' in body;
  return isProblem ? new CallRefused(body as ProblemMessage) : notOurs(response);
}

/** A proxy responded, or the server is not a coordinator. */
function notOurs({ status, url }: Response, cause?: unknown): Fault {
  // A custom fetch may leave the address out.
  const who = URL.canParse(url) ? new URL(url).origin : 'The server';
  return new Fault(
    'no-coordinator',
    `${who} returned status ${status} and a body that no coordinator sends. The request may or may not have had its effect. Check the URL, and any proxy before the coordinator.`,
    cause === undefined ? {} : { cause },
  );
}

// Values keep their types on the way to a coordinator, as in an embedded engine: a Date arrives as
// a Date.

/** Adds tags if a value needs them. Throws with the path of a value that cannot be sent. */
export function withTags<Body extends object>(what: string, body: Body, name: keyof Body): Body {
  const value = body[name];
  const isTagged = toText(what, value)?.tagged === true;
  return isTagged ? { ...body, [name]: taggedOf(value), tagged: true } : body;
}
