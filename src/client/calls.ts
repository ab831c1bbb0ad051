// What the parts of the client have in common.

import type { Problem } from '../protocol/messages/problem.ts';
import { Fault } from '../support/fault.ts';

/** The coordinator said no: `code` is for programs, the message for people. */
export class CallRefused extends Fault {
  override readonly name = 'CallRefused';
  readonly status: number;
  readonly problem: Problem;

  constructor(problem: Problem) {
    super(problem.code, problem.detail);
    this.status = problem.status;
    this.problem = problem;
  }
}

export interface Page<Item> {
  readonly items: readonly Item[];
  readonly cursor?: string;
}

export interface CallOptions {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly query?: Readonly<
    Record<string, string | number | boolean | readonly string[] | undefined>
  >;
  readonly body?: unknown;
  readonly signal?: AbortSignal;
}

/** Who sends what the parts of a client ask for. */
export interface Calls {
  call<Answer>(path: string, options?: CallOptions): Promise<Answer>;
  /** As it is sent. */
  bytes(path: string, options?: CallOptions): Promise<Uint8Array>;
}

export interface PageQuery {
  readonly cursor?: string;
  readonly limit?: number;
}

/** A part of a path. */
export function part(text: string): string {
  return encodeURIComponent(text);
}
