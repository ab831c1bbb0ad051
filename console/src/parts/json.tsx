// A JSON value as a tree. Closed branches are not rendered, because values can be very large.

import { type ReactNode, useState } from 'react';
import { countText } from '../model/words.ts';
import { Copy } from './marks.tsx';

const OPEN_DEPTH = 2;
const CHILDREN_MAX = 200;
const TEXT_MAX = 4_000;

export function JsonView({
  value,
  label,
}: {
  readonly value: unknown;
  readonly label: string;
}): ReactNode {
  return (
    <div className="json">
      <div className="json-actions">
        <Copy text={() => JSON.stringify(value, undefined, 2) ?? 'null'} what="JSON" />
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
        <Leaf value={value} />
      </div>
    );
  }
  return <Branch value={value} depth={depth} title={title} />;
}

interface BranchProps extends Omit<NodeProps, 'name'> {
  readonly value: object;
  readonly title: ReactNode;
}

function Branch({ value, depth, title }: BranchProps): ReactNode {
  const entries = Object.entries(value);
  const isList = Array.isArray(value);
  const [isOpen, setOpen] = useState(depth < OPEN_DEPTH && entries.length <= CHILDREN_MAX);
  const shown = isOpen ? entries.slice(0, CHILDREN_MAX) : [];
  return (
    <details open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        {title}
        <span className="json-size">{isList ? `[${entries.length}]` : `{${entries.length}}`}</span>
      </summary>
      <div className="json-children">
        {shown.map(([key, each]) => (
          <Node key={key} name={key} value={each} depth={depth + 1} />
        ))}
        {entries.length > CHILDREN_MAX ? (
          <p className="about">
            {countText(entries.length - CHILDREN_MAX)} more. Copy the JSON to see everything.
          </p>
        ) : null}
      </div>
    </details>
  );
}

function Leaf({ value }: { readonly value: unknown }): ReactNode {
  const [isComplete, setComplete] = useState(false);
  const text = leafText(value);
  const isLong = text.length > TEXT_MAX && !isComplete;
  return (
    <>
      <span className={`json-${value === null ? 'null' : typeof value}`}>
        {isLong ? `${text.slice(0, TEXT_MAX)}…` : text}
      </span>
      {isLong ? (
        <button type="button" className="quiet" onClick={() => setComplete(true)}>
          Show full text ({countText(text.length)} characters)
        </button>
      ) : null}
    </>
  );
}

function leafText(value: unknown): string {
  return typeof value === 'string' ? JSON.stringify(value) : String(value);
}
