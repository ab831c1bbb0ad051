// One line for each request that was answered. What was asked for is told by its route, not by its address: links
// that answer have their secret in it.

import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Caller } from '../protocol/rest/route.ts';
import type { ServerLog } from './server-options.ts';

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

export class RequestLog {
  readonly #log: ServerLog;
  readonly #callerOf: (request: FastifyRequest) => Caller | undefined;

  constructor(log: ServerLog, callerOf: (request: FastifyRequest) => Caller | undefined) {
    this.#log = log;
    this.#callerOf = callerOf;
  }

  answered(request: FastifyRequest, reply: FastifyReply): void {
    const caller = this.#callerOf(request);
    const { id } = (request.params ?? {}) as { readonly id?: unknown };
    this.#log.info('request', {
      method: request.method,
      route: request.routeOptions.url ?? 'none',
      ...(typeof id === 'string' && UUID.test(id) ? { id } : {}),
      status: reply.statusCode,
      ms: Math.round(reply.elapsedTime),
      ...(caller && { by: caller.name, ...keyIn(caller), project: caller.project }),
      from: request.ip,
    });
  }
}

function keyIn({ key }: Caller): { readonly key?: string } {
  return key === undefined ? {} : { key };
}
