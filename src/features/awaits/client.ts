// What executions ask, for those who answer.

import { ask, type Calls, type PageQuery, withTags } from '../../client/calls.ts';

export interface AwaitFilter extends PageQuery {
  /** Those that can be answered, unless said otherwise. */
  readonly open?: boolean;
  readonly execution?: string;
  readonly name?: string;
  readonly assignee?: string;
}

/** Where an interaction stands: it can be answered before it is asked. */
export interface AnswerPlace {
  readonly execution: string;
  readonly name: string;
  readonly occurrence?: number;
  readonly item?: number;
}

export function awaitsClient(client: Calls) {
  return {
    list: (filter: AwaitFilter = {}) => ask(client, 'GET /v1/awaits', filter),
    read: (id: string) => ask(client, 'GET /v1/awaits/:id', { id }),
    /** The first answer wins; the same again is fine. */
    answer(target: string | AnswerPlace, value?: unknown) {
      const sent = value === undefined ? {} : withTags('The answer', { value }, 'value');
      if (typeof target === 'string') {
        return ask(client, 'POST /v1/awaits/:id/answer', { ...sent, id: target });
      }
      const { execution: id, ...place } = target;
      return ask(client, 'POST /v1/executions/:id/awaits/:name/answer', { ...sent, id, ...place });
    },
    /** From now; null: for as long as it takes. */
    extend: (id: string, timeoutMs: number | null) =>
      ask(client, 'POST /v1/awaits/:id/extend', { id, timeoutMs }),
    /** null: nobody. */
    assign: (id: string, assignee: string | null) =>
      ask(client, 'POST /v1/awaits/:id/assign', { id, assignee }),
    cancel: (id: string) => ask(client, 'POST /v1/awaits/:id/cancel', { id }),
    /** Answered at this path, once, without any key. */
    link: (id: string, expiresInMs: number) =>
      ask(client, 'POST /v1/awaits/:id/link', { id, expiresInMs }),
  };
}
