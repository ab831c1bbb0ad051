// The client's methods for open questions and their answers.

import { type Calls, callOperation, type PageQuery, withTags } from '../../client/calls.ts';

export interface AwaitFilter extends PageQuery {
  /** By default, those that can be answered. */
  readonly open?: boolean;
  readonly execution?: string;
  readonly name?: string;
  readonly assignee?: string;
}

/** The position of an interaction. With it, you can answer before the execution asks. */
export interface AnswerPlace {
  readonly execution: string;
  readonly name: string;
  readonly occurrence?: number;
  readonly item?: number;
}

export function awaitsClient(client: Calls) {
  return {
    list: (filter: AwaitFilter = {}) => callOperation(client, 'GET /v1/awaits', filter),
    read: (id: string) => callOperation(client, 'GET /v1/awaits/:id', { id }),
    /** The first answer wins; repeating it is safe. */
    answer(target: string | AnswerPlace, value?: unknown) {
      const sent = value === undefined ? {} : withTags('The answer', { value }, 'value');
      if (typeof target === 'string') {
        return callOperation(client, 'POST /v1/awaits/:id/answer', { ...sent, id: target });
      }
      const { execution: id, ...place } = target;
      return callOperation(client, 'POST /v1/executions/:id/awaits/:name/answer', {
        ...sent,
        id,
        ...place,
      });
    },
    /** Counts from now; null removes the limit. */
    extend: (id: string, timeoutMs: number | null) =>
      callOperation(client, 'POST /v1/awaits/:id/extend', { id, timeoutMs }),
    /** null removes the assignee. */
    assign: (id: string, assignee: string | null) =>
      callOperation(client, 'POST /v1/awaits/:id/assign', { id, assignee }),
    cancel: (id: string) => callOperation(client, 'POST /v1/awaits/:id/cancel', { id }),
    /** Returns a path that accepts one answer without a key. */
    link: (id: string, expiresInMs: number) =>
      callOperation(client, 'POST /v1/awaits/:id/link', { id, expiresInMs }),
  };
}
