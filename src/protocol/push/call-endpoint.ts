// The content of a call to an endpoint: the claim with everything needed to continue it.

import { storedValues } from '../../execution/execution.ts';
import type { HistoryEvent } from '../../execution/history.ts';
import type { Payload } from '../../execution/names.ts';
import type { Claim, Claimed, ExecutionStore } from '../../store/contract/execution-store.ts';
import { shownUrl } from '../../support/hidden-options.ts';
import { type Post, post } from '../../support/post.ts';
import { secureBytes } from '../../support/random.ts';
import { WORK_VERSION } from '../messages/envelope.ts';
import type { Driven, PushCommand } from '../messages/push.ts';
import type { Coordinator } from '../rest/route.ts';
import { giveOut } from '../rest/work-content.ts';
import { claimFor, noteIssued } from '../rest/work-writes.ts';
import type { Endpoint } from './push-options.ts';

const PAGE = 1_000;

type Call = Pick<Driven, 'claimed' | 'session' | 'owner' | 'deadlineInMs'>;

export async function drivenBy(executions: ExecutionStore, call: Call): Promise<Driven> {
  const { execution } = call.claimed;
  const { id, project } = execution;
  const history = await pages(
    (after) => executions.history({ id, after, limit: PAGE }),
    ({ seq }) => seq,
  );
  const inbox = await pages(
    (after) => executions.inbox({ id, after, limit: PAGE }),
    ({ n }) => n,
  );
  const bodies = [...history, ...inbox].map(({ body }) => body);
  await giveOut(executions, project, [...storedValues(execution), ...bodies]);
  return { ...call, history, inbox };
}

/** The size of the call, nearly. */
export function charsIn({ claimed, history, inbox }: Driven): number {
  const bodies = [...history, ...inbox].map(({ body }) => body);
  const texts = [...storedValues(claimed.execution), ...bodies];
  return texts.reduce((sum, each) => sum + (each?.length ?? 0), 0);
}

async function pages<Item>(
  read: (after: number) => Promise<readonly Item[]>,
  at: (item: Item) => number,
): Promise<readonly Item[]> {
  const all: Item[] = [];
  for (;;) {
    const last = all.at(-1);
    const page = await read(last === undefined ? 0 : at(last));
    all.push(...page);
    if (page.length < PAGE) return all;
  }
}

// Commands, each valid for one endpoint.

export type EndpointCommand = Pick<PushCommand, 'kind' | 'drive' | 'nonce'>;

const NONCE_BYTES = 16;

/** Identifies a probe. */
export function newNonce(): string {
  return Buffer.from(secureBytes(NONCE_BYTES)).toString('base64url');
}

/** The signed text to send. */
export function commandFor(
  { url, project, signer }: Endpoint,
  fields: EndpointCommand,
  { at, until }: Pick<PushCommand, 'at' | 'until'>,
): string {
  const claims = { to: 'worker', at, until, v: WORK_VERSION } as const;
  const command: PushCommand = { ...claims, audience: shownUrl(url), project, ...fields };
  return signer.sign(command);
}

// Makes one claim on behalf of an endpoint, from the first lane with a ready execution.

export async function claimOne(
  coordinator: Coordinator,
  request: Omit<Claim, 'shares'>,
): Promise<Claimed | undefined> {
  for (const lane of ['interactive', 'batch'] as const) {
    const reply = await claimFor(coordinator, { ...request, shares: [{ lane, limit: 1 }] });
    const [claimed] = reply.kind === 'claimed' ? reply.claims : [];
    if (claimed === undefined) continue;
    noteIssued(coordinator.store, claimed.fence);
    return claimed;
  }
  return undefined;
}

// Claims that their call did not end: how the coordinator gives them back, and when it calls again
// (M-29).

const CALL_FAILED = 'call-failed';
const DENIED_MS = 1_000;
const FIRST_MS = 1_000;
const LONGEST_MS = 60_000;

export interface Unended {
  /**
   * `denied`: nothing was tried. `failed`: the work may have happened. `stopping`: the same, and
   * the coordinator is stopping.
   */
  readonly kind: 'denied' | 'failed' | 'stopping';
  readonly by: string;
  readonly reason: string;
}

/** `failed`: the number of failed calls in a row before this one. */
export function givenBack(
  { kind, by, reason }: Unended,
  failed: number,
): { readonly body: Payload; readonly delayMs: number } {
  const bodyFor = (why: string, more: object = {}): Payload =>
    JSON.stringify({ why, by, reason, ...more }) as Payload;
  if (kind === 'denied') return { body: bodyFor('denied'), delayMs: DENIED_MS };
  // Its steps may have run, so the next owner must know.
  const left = { abandoned: true };
  if (kind === 'stopping') return { body: bodyFor('stopping', left), delayMs: 0 };
  return { body: bodyFor(CALL_FAILED, left), delayMs: retryDelayMs(failed) };
}

export function retryDelayMs(failed: number): number {
  return Math.min(LONGEST_MS, FIRST_MS * 2 ** failed);
}

/** The number of failed calls in a row at the end of the history. */
export function failedCallsIn(history: readonly HistoryEvent[]): number {
  const last = history.findLastIndex((event) => event.kind !== 'claimed' && !isFailedCall(event));
  return history.slice(last + 1).filter(isFailedCall).length;
}

function isFailedCall({ kind, body }: HistoryEvent): boolean {
  if (kind !== 'given-back') return false;
  return (JSON.parse(body ?? '{}') as { readonly why?: string }).why === CALL_FAILED;
}

// One call of an endpoint.

export type Posted =
  | { readonly kind: 'answered'; readonly status: number; readonly text: string }
  /** Nothing was sent, or the endpoint refused the request. */
  | { readonly kind: 'denied'; readonly why: string }
  /** The endpoint may have done the work. */
  | { readonly kind: 'unknown'; readonly why: string };

/** With these statuses the endpoint confirms that it has not begun. */
const TURNED_AWAY: ReadonlySet<number> = new Set([429, 503]);

export async function callOnce(sent: Omit<Post, 'headers'>): Promise<Posted> {
  const headers = { 'content-type': 'text/plain; charset=utf-8' };
  const posted = await post({ ...sent, headers });
  if (posted.kind === 'unsent') return { kind: 'denied', why: posted.why };
  if (posted.kind === 'unknown') return posted;
  const { status, text } = posted;
  if (TURNED_AWAY.has(status)) return { kind: 'denied', why: `it responded with status ${status}` };
  // A redirect would send text signed for this address to another one.
  if (status !== 200) return { kind: 'unknown', why: `it responded with status ${status}` };
  return { kind: 'answered', status, text };
}
