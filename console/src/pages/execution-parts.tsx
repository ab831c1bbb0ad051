// Values, relatives and records of one execution.

import type { ReactNode } from 'react';
import type { ExecutionInFull, ResultMessage } from '../../../src/protocol/messages/execution.ts';
import { requestTo } from '../../../src/protocol/messages/request.ts';
import { type Child, useChildren } from '../api/children.ts';
import { itemsOf, useRead } from '../api/reads.ts';
import { plural } from '../model/words.ts';
import { JsonView } from '../parts/json.tsx';
import { ExecutionLink, Fence, Status, Time } from '../parts/marks.tsx';
import { Empty, Shown } from '../parts/notes.tsx';
import { type Column, LongTable } from '../parts/table.tsx';

export function Values({
  execution,
  result,
}: {
  readonly execution: ExecutionInFull;
  readonly result: ResultMessage | undefined;
}): ReactNode {
  if (execution.sealed === true) {
    return (
      <Empty title="Its values are sealed">
        <p>They went through a codec that this coordinator does not have.</p>
      </Empty>
    );
  }
  const shown: readonly (readonly [string, unknown])[] = [
    ['Input', execution.input ?? null],
    ...(execution.progress === undefined ? [] : [['Progress', execution.progress] as const]),
    ...(result?.status === 'completed' ? [['Output', result.output ?? null] as const] : []),
    ...(result?.failure === undefined ? [] : [['Failure', result.failure] as const]),
  ];
  return (
    <div className="values">
      {shown.map(([name, value]) => (
        <section key={name}>
          <h3>{name}</h3>
          <JsonView value={value} label={name} />
        </section>
      ))}
    </div>
  );
}

const CHILDREN: readonly Column<Child>[] = [
  { title: 'Child', width: '10.5rem', cell: ({ id }) => <ExecutionLink id={id} /> },
  {
    title: 'Pipeline',
    width: 'minmax(9rem, 1fr)',
    cell: ({ pipeline }) => <span title={pipeline}>{pipeline}</span>,
  },
  { title: 'Status', width: 'minmax(8rem, 1fr)', cell: ({ status }) => <Status status={status} /> },
];

export function Related({ execution }: { readonly execution: ExecutionInFull }): ReactNode {
  const { id, parent, redriveOf, lineage } = execution;
  const children = useChildren(id);
  const above: readonly (readonly [string, string])[] = [
    ...(parent === undefined ? [] : [['Spawned by', parent] as const]),
    ...(redriveOf === undefined ? [] : [['Drives again', redriveOf] as const]),
    ...(lineage === id ? [] : [['First of its line', lineage] as const]),
  ];
  const below = itemsOf(children);
  return (
    <Shown
      of={children}
      isEmpty={children.data !== undefined && above.length + below.length === 0}
      empty={<Empty title="It has no relatives" />}
    >
      <ul className="relatives">
        {above.map(([what, other]) => (
          <li key={what}>
            <span className="about">{what}</span> <ExecutionLink id={other} />
          </li>
        ))}
      </ul>
      {below.length === 0 ? null : (
        <>
          <h3>
            {plural(below.length, 'child', 'children')}
            {children.hasNextPage ? ' and more' : ''}
          </h3>
          <LongTable
            label="Children"
            columns={CHILDREN}
            items={below}
            keyOf={(child) => child.id}
            pages={children}
          />
        </>
      )}
    </Shown>
  );
}

export function Records({ id }: { readonly id: string }): ReactNode {
  const audit = useRead(requestTo('GET /v1/audit', { target: 'execution', targetId: id }));
  const refused = useRead(requestTo('GET /v1/refused-writes', { execution: id }), {
    everyMs: 3_000,
  });
  const acts = audit.data?.items ?? [];
  const writes = refused.data?.items ?? [];
  return (
    <Shown
      of={audit}
      isEmpty={audit.data !== undefined && acts.length + writes.length === 0}
      empty={<Empty title="Nobody did anything to it, and nothing was refused" />}
    >
      <ul className="relatives">
        {writes.map((write) => (
          <li key={`${write.session}${write.verb}${write.fence}`}>
            <Time at={write.lastAt} /> <strong className="bad">refused</strong> {write.verb} of{' '}
            {write.owner} with the old fence <Fence fence={write.fence} isOld />
            {write.newest === undefined ? null : (
              <>
                , the newest is <Fence fence={write.newest} />
              </>
            )}{' '}
            <span className="about">
              {write.why}
              {write.count > 1 ? `, ${write.count} times` : ''}
            </span>
          </li>
        ))}
        {acts.map((act) => (
          <li key={act.id}>
            <Time at={act.at} /> <strong>{act.act}</strong> by {act.actor}{' '}
            <span className="about">{act.reason}</span>
          </li>
        ))}
      </ul>
    </Shown>
  );
}
