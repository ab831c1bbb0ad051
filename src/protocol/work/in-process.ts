// A worker in the process of its coordinator: the same messages, by a call. They go through JSON, so that
// neither side can change what the other has.

import type { Ask, Carrier } from '../messages/carrier.ts';
import { answerIn, envelopeOf } from '../messages/envelope.ts';
import type { Caller, Coordinator } from '../rest/route.ts';
import type { Dispatch } from './dispatch.ts';

export interface InProcessParts {
  readonly coordinator: Coordinator;
  readonly dispatch: Dispatch;
  readonly admit: () => Promise<Caller>;
  readonly stopping: AbortSignal;
}

export function inProcessCarrier(parts: InProcessParts): Carrier {
  const { coordinator, dispatch, admit, stopping } = parts;
  let asked = 0;
  return {
    name: 'in-process',
    async ask<Answer>(ask: Ask): Promise<Answer> {
      asked += 1;
      const { signal = stopping } = ask;
      const envelope = envelopeOf({ ...ask, ...copied(ask.body) }, String(asked));
      const { body, ...reply } = await dispatch({ envelope, admit, signal });
      return answerIn(ask, { ...reply, ...copied(body) });
    },
    onRing: (listener) => coordinator.store.executions.onRing(listener),
    close: async () => undefined,
  };
}

function copied(body: unknown): { readonly body?: object } {
  return body === undefined ? {} : { body: JSON.parse(JSON.stringify(body)) };
}
