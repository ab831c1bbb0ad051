// What executions ask, for those who answer.

import { type Calls, type Page, type PageQuery, part, withTags } from '../../client/calls.ts';
import type { AnsweredMessage, InteractionMessage } from './messages.ts';

export interface AwaitFilter extends PageQuery {
  /** Those that can be answered, unless said otherwise. */
  readonly open?: boolean;
  readonly execution?: string;
  readonly name?: string;
  readonly assignee?: string;
}

/** Where an interaction stands: it can be answered before it is asked. */
export interface Place {
  readonly execution: string;
  readonly name: string;
  readonly occurrence?: number;
  readonly item?: number;
}

interface Done {
  readonly kind: 'done';
}

export class Awaits {
  readonly #client: Calls;

  constructor(client: Calls) {
    this.#client = client;
  }

  list(filter: AwaitFilter = {}): Promise<Page<InteractionMessage>> {
    return this.#client.call('/v1/awaits', { query: { ...filter } });
  }

  read(id: string): Promise<InteractionMessage> {
    return this.#client.call(`/v1/awaits/${part(id)}`);
  }

  /** The first answer wins; the same again is fine. */
  answer(target: string | Place, value?: unknown): Promise<AnsweredMessage> {
    const sent = value === undefined ? {} : withTags('The answer', { value }, 'value');
    if (typeof target === 'string') return this.#act(target, 'answer', sent);
    const { execution, name, ...place } = target;
    return this.#client.call(`/v1/executions/${part(execution)}/awaits/${part(name)}/answer`, {
      method: 'POST',
      body: { ...place, ...sent },
    });
  }

  /** From now; null: for as long as it takes. */
  extend(id: string, timeoutMs: number | null): Promise<Done> {
    return this.#act(id, 'extend', { timeoutMs });
  }

  /** null: nobody. */
  assign(id: string, assignee: string | null): Promise<Done> {
    return this.#act(id, 'assign', { assignee });
  }

  cancel(id: string): Promise<Done> {
    return this.#act(id, 'cancel', undefined);
  }

  /** Answered at this path, once, without any key. */
  link(
    id: string,
    expiresInMs: number,
  ): Promise<{ readonly token: string; readonly path: string }> {
    return this.#act(id, 'link', { expiresInMs });
  }

  #act<Answer>(id: string, verb: string, body: object | undefined): Promise<Answer> {
    return this.#client.call(`/v1/awaits/${part(id)}/${verb}`, { method: 'POST', body });
  }
}
