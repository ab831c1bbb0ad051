// Releases: what was built, and where new executions go.

import type {
  ActivationMessage,
  LineBody,
  LineChangedMessage,
  LineMessage,
  MoveBody,
  PreflightBody,
  PreflightMessage,
  RegisterBody,
  ReleaseMessage,
} from '../protocol/messages/releases.ts';
import { type Calls, part } from './calls.ts';

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

  line(pipeline: string): Promise<LineMessage> {
    return this.#client.call(`${pathOf(pipeline)}/line`);
  }

  /** Activates, gives a share, promotes, rolls back, retires. */
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
}

function pathOf(pipeline: string): string {
  return `/v1/pipelines/${part(pipeline)}`;
}
