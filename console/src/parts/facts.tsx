// A list of names and values, with a button that copies the ID.

import type { ReactNode } from 'react';
import type { ErasureMessage } from '../../../src/protocol/messages/execution.ts';
import { actorText } from '../model/words.ts';
import { Copy, Time } from './marks.tsx';

export type Fact = readonly [name: string, value: ReactNode];

/** When and by whom the values were erased. */
export function erasedFacts(erased: ErasureMessage | undefined): readonly Fact[] {
  if (erased === undefined) return [];
  const { at, by, pending } = erased;
  const left = pending === undefined ? '' : ', not complete yet';
  return [
    [
      'Erased',
      <span key="erased">
        <Time at={at} /> by {actorText(by)}
        {left}
      </span>,
    ],
  ];
}

interface FactListProps {
  readonly facts: readonly Fact[];
  readonly id: string;
}

export function FactList({ facts, id }: FactListProps): ReactNode {
  return (
    <dl className="facts">
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
      <div className="facts-copy">
        <dt className="hidden">ID</dt>
        <dd>
          <Copy text={id} what="ID" />
        </dd>
      </div>
    </dl>
  );
}
