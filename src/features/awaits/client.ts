// The client's methods for open questions and their answers.

import { type Calls, callOperation, type PageQuery, withTags } from '../../client/calls.ts';

/** Filters and page of a list of interactions. */
export interface AwaitFilter extends PageQuery {
  /** True (default): only those that can be answered. False: only those that cannot. */
  readonly open?: boolean;
  /** True: only those that wait for a slot of their concurrency key. Default false. */
  readonly queued?: boolean;
  /** Only those of this execution. */
  readonly execution?: string;
  /** Only those of awaits with this name. */
  readonly name?: string;
  /** Only those that are assigned to this name. */
  readonly assignee?: string;
  /** `newest` (default), or `due`: open ones, the next one due first. */
  readonly sort?: 'newest' | 'due';
}

/** Names an interaction before or after the execution has asked. */
export interface AnswerPlace {
  /** The id of the execution. */
  readonly execution: string;
  /** The name of the await. */
  readonly name: string;
  /** How many times the execution has awaited this name. Default 1. */
  readonly occurrence?: number;
  /** The index of the item, from 0. Default 0. */
  readonly item?: number;
}

/** Operations of `client.awaits`. */
export function awaitsClient(client: Calls) {
  return {
    /** Returns a page of interactions. */
    list: (filter: AwaitFilter = {}) => callOperation(client, 'GET /v1/awaits', filter),
    /** Counts open interactions, up to 10,000. */
    count: (filter: Pick<AwaitFilter, 'name' | 'assignee'> = {}) =>
      callOperation(client, 'GET /v1/awaits/count', filter),
    /** Returns an interaction. */
    read: (id: string) => callOperation(client, 'GET /v1/awaits/:id', { id }),
    /** Answers an interaction. The first answer wins; the same again is safe. */
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
    /** Gives the same answer to up to 100 interactions, in one transaction. Repeating it is safe. */
    answerAll(ids: readonly string[], value?: unknown) {
      const sent = value === undefined ? {} : withTags('The answer', { value }, 'value');
      return callOperation(client, 'POST /v1/awaits/answers', { ...sent, ids: [...ids] });
    },
    /** Sets a new timeout in milliseconds from now; null removes it. */
    extend: (id: string, timeoutMs: number | null) =>
      callOperation(client, 'POST /v1/awaits/:id/extend', { id, timeoutMs }),
    /** Assigns an interaction; null removes the assignee. */
    assign: (id: string, assignee: string | null) =>
      callOperation(client, 'POST /v1/awaits/:id/assign', { id, assignee }),
    /** Cancels an await. The code continues with the outcome `cancelled`. */
    cancel: (id: string) => callOperation(client, 'POST /v1/awaits/:id/cancel', { id }),
    /** Makes a link that answers the interaction once, without an access key. */
    link: (id: string, expiresInMs: number) =>
      callOperation(client, 'POST /v1/awaits/:id/link', { id, expiresInMs }),
  };
}
