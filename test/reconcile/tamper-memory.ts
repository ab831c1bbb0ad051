import type { ExecutionId } from '../../src/execution/names.ts';
import type { Entry, ExecutionState } from '../../src/store/memory/executions/state.ts';
import type { Instant } from '../../src/support/clock.ts';
import type { Tamper, Tampered } from './tamper.ts';

/** Behind the back of its verbs, indexes and all. */
export function tamperMemory(state: ExecutionState): Tamper {
  const entryOf = (id: ExecutionId): Entry => {
    const entry = state.entries.get(id);
    if (entry === undefined) throw new Error(`${id} is not there`);
    return entry;
  };
  return {
    setExecution: async (id, values) => setExecution(state, entryOf(id), values),
    async dropMessages(id) {
      const entry = entryOf(id);
      entry.inbox.length = 0;
      entry.execution = { ...entry.execution, news: 0 };
    },
    async dropAwaits(id) {
      for (const { ids } of state.awaits.get(id)?.values() ?? []) {
        for (const each of ids) state.interactions.delete(each);
      }
      for (const list of state.interactionIds.values()) {
        const left = list.filter((each) => state.interactions.has(each));
        list.splice(0, list.length, ...left);
      }
      state.awaits.delete(id);
    },
    async reopenAwaits(id) {
      for (const entry of state.awaits.get(id)?.values() ?? []) {
        const { settledAt: _, ...unit } = entry.unit ?? {};
        entry.unit = { ...unit, status: 'open' } as typeof entry.unit;
        for (const each of entry.ids) {
          const interaction = state.interactions.get(each);
          if (interaction !== undefined) state.putInteraction({ ...interaction, status: 'open' });
        }
      }
    },
    async dropErrand(parent) {
      for (const child of state.children.get(parent) ?? []) state.orphans.delete(child);
    },
    async setTaken(key, taken) {
      for (const [name, book] of state.places) if (name.endsWith(`\0${key}`)) book.taken = taken;
    },
    async dropLetter(id) {
      state.deadLetters.delete(id);
      for (const list of state.deadLetterIds.values()) {
        list.splice(0, list.length, ...list.filter((each) => each !== id));
      }
    },
    async setRedrivenBy(id, redrivenBy) {
      const letter = state.deadLetters.get(id);
      if (letter !== undefined) state.deadLetters.set(id, { ...letter, redrivenBy });
    },
    async setNext(name, at) {
      for (const entry of state.schedules.values()) {
        if (entry.schedule.id !== name) continue;
        const { nextAt: _, ...rest } = entry.schedule;
        entry.schedule = { ...rest, ...(at === null ? {} : { nextAt: at as Instant }) };
      }
    },
  };
}

function setExecution(state: ExecutionState, entry: Entry, tampered: Tampered): void {
  const { readyAt, session, ...values } = tampered;
  const { readyAt: was, session: carrier, ...rest } = entry.execution;
  const at = readyAt === undefined ? was : (readyAt ?? undefined);
  const by = session === null ? undefined : carrier;
  entry.execution = {
    ...rest,
    ...(at === undefined ? {} : { readyAt: at as Instant }),
    ...(by === undefined ? {} : { session: by }),
    ...values,
  };
  if (session === undefined || carrier === undefined) return;
  state.running.get(carrier)?.delete(rest.id);
  if (state.running.get(carrier)?.size === 0) state.running.delete(carrier);
}
