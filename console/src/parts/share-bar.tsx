// A part of a whole as a bar, in the colour of its severity.

import type { ReactNode } from 'react';

interface ShareBarProps {
  /** From 0 to 1. */
  readonly part: number;
  readonly severity: 'bad' | 'warn' | 'ok';
  readonly label: string;
}

export function ShareBar({ part, severity, label }: ShareBarProps): ReactNode {
  const width = `${Math.min(1, Math.max(0, part)) * 100}%`;
  return (
    <span className="share" role="img" aria-label={label}>
      <span className={`share-bar share-${severity}`} style={{ width }} />
    </span>
  );
}
