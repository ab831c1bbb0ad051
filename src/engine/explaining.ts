// Gathers what is known of an execution and says why it is not moving.

import type { ExecutionRecord } from '../execution/execution.ts';
import { isTerminal } from '../execution/execution.ts';
import { type ExplainFacts, type Explanation, explain } from '../execution/explain.ts';
import type { ExecutionId } from '../execution/names.ts';
import { toInstant } from '../support/clock.ts';
import type { EngineConfig } from './config.ts';

/** Enough to find how it was parked or blocked, whatever was said to it since. */
const EVENTS = 50;
const PAGE = 1_000;

/** Undefined when it is not known. */
export async function explainExecution(
  config: EngineConfig,
  id: ExecutionId,
): Promise<Explanation | undefined> {
  const execution = await config.store.executions.read(id);
  if (execution === undefined) return undefined;
  const isOpen = !isTerminal(execution.status);
  const [last, owner, awaits, openChildren] = await Promise.all([
    lastEvents(config, execution),
    ownerOf(config, execution),
    isOpen ? openAwaits(config, execution) : [],
    isOpen ? countOpenChildren(config, id) : 0,
  ]);
  const now = toInstant(config.clock.wallMs());
  return explain({ execution, now, last, awaits, openChildren, ...(owner && { owner }) });
}

function lastEvents(
  config: EngineConfig,
  { id, seq }: ExecutionRecord,
): Promise<ExplainFacts['last']> {
  const after = Math.max(0, seq - EVENTS);
  return config.store.executions.history({ id, after, limit: PAGE });
}

async function ownerOf(
  config: EngineConfig,
  { session }: ExecutionRecord,
): Promise<ExplainFacts['owner']> {
  if (session === undefined) return undefined;
  const found = await config.store.sessions.inspect(session);
  if (found === undefined) return { name: session, ended: true, overdue: false };
  const { state } = found;
  return {
    name: found.session.owner,
    ended: state === 'ended',
    overdue: state === 'overdue' || state === 'lapsed',
  };
}

async function openAwaits(
  config: EngineConfig,
  { id, project }: ExecutionRecord,
): Promise<ExplainFacts['awaits']> {
  const query = { project, execution: id, open: true, limit: PAGE };
  const found = await config.store.executions.interactions(query);
  return found.flatMap(({ interaction, unit }) => {
    if (unit === undefined) return [];
    const { assignee } = interaction;
    const { name, dueAt } = unit;
    return { name, ...(dueAt === undefined ? {} : { dueAt }), ...(assignee && { assignee }) };
  });
}

async function countOpenChildren(config: EngineConfig, parent: ExecutionId): Promise<number> {
  let open = 0;
  for (let after: ExecutionId | undefined; ; ) {
    const query = { parent, limit: PAGE, ...(after === undefined ? {} : { after }) };
    const page = await config.store.executions.children(query);
    open += page.filter(({ status }) => !isTerminal(status)).length;
    after = page.at(-1)?.id;
    if (page.length < PAGE) return open;
  }
}
