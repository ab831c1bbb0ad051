// The list of open requests, grouped by question. Several of one group can be answered at once.

import { type ReactNode, useState } from 'react';
import type { InteractionMessage } from '../../../src/features/awaits/messages.ts';
import { useMay } from '../api/reads.ts';
import { groupsOf, type RequestGroup } from '../model/inbox.ts';
import { summaryOf } from '../model/summary.ts';
import { countText } from '../model/words.ts';
import { Until } from '../parts/marks.tsx';
import { BulkAnswer } from './inbox-bulk.tsx';

interface RequestListProps {
  readonly open: readonly InteractionMessage[];
  /** Pages that were not read yet may have more requests of each group. */
  readonly hasMore: boolean;
  readonly chosen: string | undefined;
  readonly onChoose: (id: string) => void;
}

export function RequestList({ open, ...rest }: RequestListProps): ReactNode {
  return groupsOf(open).map((group) => <Group key={group.key} group={group} {...rest} />);
}

interface GroupProps extends Omit<RequestListProps, 'open'> {
  readonly group: RequestGroup;
}

function Group({ group, hasMore, chosen, onChoose }: GroupProps): ReactNode {
  const { operate } = useMay();
  const [marked, setMarked] = useState<ReadonlySet<string>>(new Set());
  const items = group.items.filter(({ id }) => marked.has(id));
  const mayMark = operate && group.items.every(({ unit }) => unit?.signed !== true);
  const toggle = (id: string): void => {
    const others = [...marked].filter((each) => each !== id);
    setMarked(new Set(marked.has(id) ? others : [...others, id]));
  };
  return (
    <section aria-label={`${group.name} of ${group.pipeline}`}>
      <header className="section-head">
        <h2>{group.name}</h2>
        <span className="about">
          {group.pipeline} · {countText(group.items.length)}
          {hasMore ? '+' : ''}
        </span>
        {items.length === 0 ? null : (
          <BulkAnswer items={items} onDone={() => setMarked(new Set())} />
        )}
      </header>
      <ul className="requests">
        {group.items.map((item) => (
          <li key={item.id} className="request">
            {mayMark && group.items.length > 1 ? (
              <input
                type="checkbox"
                aria-label={`Select ${titleOf(item)}`}
                checked={marked.has(item.id)}
                onChange={() => toggle(item.id)}
              />
            ) : null}
            <button
              type="button"
              className="choice-card"
              aria-pressed={item.id === chosen}
              onClick={() => onChoose(item.id)}
            >
              <strong>{titleOf(item)}</strong>
              <span>{group.name}</span>
              <span className="about">
                {item.assignee === undefined ? 'Unassigned' : `Assigned to ${item.assignee}`}
                {progressOf(item)}
                {item.unit?.dueAt === undefined ? null : (
                  <>
                    {' · due '}
                    <Until at={item.unit.dueAt} />
                  </>
                )}
              </span>
            </button>
          </li>
        ))}
      </ul>
    </section>
  );
}

/** How far an await with several questions is. Its other questions close when it has enough answers. */
function progressOf({ unit }: InteractionMessage): string | null {
  if (unit === undefined || unit.items === 1) return null;
  return ` · ${unit.answered} of ${unit.needed} answers`;
}

const FIELDS = 3;

/** The fields of the question that summarise it, such as a name and an amount. */
function titleOf({ request, unit, call }: InteractionMessage): string {
  const fields = summaryOf(request, FIELDS).map(([name, text]) => `${name}: ${text}`);
  return fields.length === 0 ? (unit?.name ?? call) : fields.join(' · ');
}
