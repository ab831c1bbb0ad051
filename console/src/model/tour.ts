// The tour of the demo: five steps with their sub-steps, and how far a person has come. Pure.

import type { DemoEvent, DemoMessage, Scene } from '../../../src/protocol/messages/coordinator.ts';

export interface SubStep {
  readonly text: string;
  readonly isDone: boolean;
}

export interface TourStep {
  readonly key: string;
  readonly title: string;
  readonly scene?: Scene;
  readonly subSteps: readonly SubStep[];
  readonly isDone: boolean;
  /** The execution of the last event, and the event to select there. */
  readonly to?: string;
}

interface Planned {
  readonly key: string;
  readonly title: string;
  readonly scene?: Scene;
  readonly events: readonly (readonly [event: DemoEvent, text: string])[];
  /** The query of the link to the execution. */
  readonly query?: string;
}

const PLAN: readonly Planned[] = [
  {
    ...{ key: 'approve', title: 'Approve an order', scene: 'ask' },
    events: [
      ['asked', 'An order waits for approval'],
      ['answered', 'It resumed where it was waiting'],
    ],
  },
  {
    ...{ key: 'freeze', title: 'Freeze a worker', scene: 'freeze', query: '?event=refused' },
    events: [
      ['stew-ordered', 'A worker cooks'],
      ['frozen', 'It is frozen (SIGSTOP)'],
      ['taken-over', 'Another one takes over'],
      ['thawed', 'The first one wakes up and writes'],
      ['refused', 'Its late write is refused'],
    ],
  },
  {
    ...{ key: 'fail', title: 'Fail a payment', scene: 'fail-payment' },
    events: [
      ['cake-ordered', 'The payment will fail'],
      ['compensating', 'Steps are undone in reverse'],
      ['quarantined', 'The refund fails: dead letter'],
    ],
  },
  { key: 'recover', title: 'Recover it', events: [['refunded', 'The guest is refunded']] },
];

/** The events since the scene began last: a scene can be played again. */
function lastPlay(story: DemoMessage['story'], { events }: Planned): DemoMessage['story'] {
  const [first] = events;
  const begin = story.findLastIndex(({ event }) => event === first?.[0]);
  return begin < 0 ? [] : story.slice(begin);
}

export function tourOf(story: DemoMessage['story']): readonly TourStep[] {
  return PLAN.map((planned) => {
    const played = lastPlay(story, planned);
    const has = (event: DemoEvent): boolean => played.some((line) => line.event === event);
    const subSteps = planned.events.map(([event, text]) => ({ text, isDone: has(event) }));
    const { key, title, scene, query = '' } = planned;
    const execution = played.find((line) => line.execution !== undefined)?.execution;
    return {
      ...{ key, title, subSteps, isDone: subSteps.every(({ isDone }) => isDone) },
      ...(scene === undefined ? {} : { scene }),
      ...(execution === undefined ? {} : { to: `/executions/${execution}${query}` }),
    };
  });
}
