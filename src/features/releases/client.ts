// Releases: what was built, and where new executions go.

import { type Calls, type Page, type PageQuery, part } from '../../client/calls.ts';
import type { BulkMoveBody } from '../repair/messages.ts';
import type {
  ActivationMessage,
  ComparedMessage,
  LineBody,
  LineChangedMessage,
  LineMessage,
  LineOfMessage,
  MoveBody,
  PreflightBody,
  PreflightMessage,
  RegisterBody,
  ReleaseMessage,
} from './messages.ts';

export class Releases {
  readonly #client: Calls;

  constructor(client: Calls) {
    this.#client = client;
  }

  /** The same again is fine. */
  register(pipeline: string, body: RegisterBody): Promise<{ readonly existing: boolean }> {
    return this.#client.call(`${pathOf(pipeline)}/releases`, { method: 'POST', body });
  }

  /** Newest first. */
  list(pipeline: string): Promise<{ readonly items: readonly ReleaseMessage[] }> {
    return this.#client.call(`${pathOf(pipeline)}/releases`);
  }

  /** Of every pipeline that has releases, by name. */
  lines(page: PageQuery = {}): Promise<Page<LineOfMessage>> {
    return this.#client.call('/v1/pipelines', { query: { ...page } });
  }

  /** What its contract changes, against what is active unless said. */
  compare(
    pipeline: string,
    name: string,
    query: { readonly against?: string } = {},
  ): Promise<ComparedMessage> {
    const path = `${pathOf(pipeline)}/releases/${part(name)}/changes`;
    return this.#client.call(path, { query: { ...query } });
  }

  line(pipeline: string): Promise<LineMessage> {
    return this.#client.call(`${pathOf(pipeline)}/line`);
  }

  /** Activates, gives a share, promotes, rolls back, deactivates, retires. */
  change(pipeline: string, body: LineBody): Promise<LineChangedMessage> {
    return this.#client.call(`${pathOf(pipeline)}/line`, { method: 'POST', body });
  }

  /** Newest first. */
  log(pipeline: string): Promise<{ readonly items: readonly ActivationMessage[] }> {
    return this.#client.call(`${pathOf(pipeline)}/activations`);
  }

  preflight(pipeline: string, name: string, body: PreflightBody = {}): Promise<PreflightMessage> {
    const path = `${pathOf(pipeline)}/releases/${part(name)}/preflight`;
    return this.#client.call(path, { method: 'POST', body });
  }

  /** Another release for an open execution. */
  move(
    id: string,
    body: MoveBody,
  ): Promise<{ readonly kind: 'moved' | 'no-change'; readonly release: string }> {
    return this.#client.call(`/v1/executions/${part(id)}/move`, { method: 'POST', body });
  }

  /** Another release for all that is open and pinned to one: a job, to be followed by `client.jobs`. */
  moveAll(pipeline: string, body: BulkMoveBody): Promise<{ readonly id: string }> {
    return this.#client.call(`${pathOf(pipeline)}/move`, { method: 'POST', body });
  }
}

function pathOf(pipeline: string): string {
  return `/v1/pipelines/${part(pipeline)}`;
}
