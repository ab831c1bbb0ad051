// A value, as a tree that opens and closes.

import type { ReactNode } from 'react';
import { Copy } from './marks.tsx';

const OPEN_DEPTH = 2;
const CHILDREN_MAX = 200;

export function JsonView({
  value,
  label,
}: {
  readonly value: unknown;
  readonly label: string;
}): ReactNode {
  return (
    <div className="json">
      <div className="json-acts">
        <Copy text={JSON.stringify(value, undefined, 2) ?? 'null'} what="JSON" />
      </div>
      <section className="json-tree" aria-label={label}>
        <Node value={value} depth={0} />
      </section>
    </div>
  );
}

interface NodeProps {
  readonly value: unknown;
  readonly depth: number;
  readonly name?: string;
}

function Node({ value, depth, name }: NodeProps): ReactNode {
  const title = name === undefined ? null : <span className="json-name">{name}: </span>;
  if (typeof value !== 'object' || value === null) {
    return (
      <div className="json-leaf">
        {title}
        <span className={`json-${value === null ? 'null' : typeof value}`}>{leafText(value)}</span>
      </div>
    );
  }
  const entries = Object.entries(value);
  const isList = Array.isArray(value);
  const shown = entries.slice(0, CHILDREN_MAX);
  return (
    <details open={depth < OPEN_DEPTH && entries.length <= CHILDREN_MAX}>
      <summary>
        {title}
        <span className="json-size">{isList ? `[${entries.length}]` : `{${entries.length}}`}</span>
      </summary>
      <div className="json-children">
        {shown.map(([key, each]) => (
          <Node key={key} name={key} value={each} depth={depth + 1} />
        ))}
        {entries.length > shown.length ? (
          <p className="about">
            and {entries.length - shown.length} more: copy the JSON to see all.
          </p>
        ) : null}
      </div>
    </details>
  );
}

function leafText(value: unknown): string {
  return typeof value === 'string' ? JSON.stringify(value) : String(value);
}
