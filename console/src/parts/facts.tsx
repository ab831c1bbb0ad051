// What is known of one thing, name by name, and its id to be copied.

import type { ReactNode } from 'react';
import { Copy } from './marks.tsx';

export type Fact = readonly [name: string, value: ReactNode];

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
        <dt className="hidden">Id</dt>
        <dd>
          <Copy text={id} what="id" />
        </dd>
      </div>
    </dl>
  );
}
