// A list of names and values, with a button that copies the ID.

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
        <dt className="hidden">ID</dt>
        <dd>
          <Copy text={id} what="ID" />
        </dd>
      </div>
    </dl>
  );
}
