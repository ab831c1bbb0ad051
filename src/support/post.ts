// One POST to an address that a user chose: without redirects, bounded in time and size, to a
// checked address.

import { type IncomingMessage, Agent as PlainAgent, request as plainRequest } from 'node:http';
import { Agent as TlsAgent, request as tlsRequest } from 'node:https';
import { type Allowed, checkedLookup, type InTurn } from './safe-address.ts';
import type { Timers } from './timer.ts';
import { LARGE_BYTES } from './turns.ts';

export type PostReply =
  | { readonly kind: 'replied'; readonly status: number; readonly text: string }
  /** No connection: the receiver got nothing. */
  | { readonly kind: 'unsent'; readonly why: string }
  /** The receiver may have got it. */
  | { readonly kind: 'unknown'; readonly why: string };

export interface Post {
  readonly url: URL;
  readonly text: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly bytesMax: number;
  readonly allowed: Allowed;
  readonly timers: Timers;
  readonly signal: AbortSignal;
  /** Resolves when a large response may arrive. */
  readonly room: () => Promise<void>;
  /** Looks the name up. Default: at once. */
  readonly inTurn?: InTurn;
}

interface Agents {
  readonly plain: PlainAgent;
  readonly tls: TlsAgent;
}

const KEPT = { keepAlive: true, timeout: 5_000 } as const;

/**
 * Connections that stay open, by the rules that allowed them. A connection is checked only when it
 * opens, so other rules must not use it.
 */
const agents: WeakMap<Allowed, Agents> = new WeakMap();

function agentsOf(allowed: Allowed): Agents {
  const known = agents.get(allowed) ?? { plain: new PlainAgent(KEPT), tls: new TlsAgent(KEPT) };
  agents.set(allowed, known);
  return known;
}

const UNSENT: ReadonlySet<string> = new Set([
  ...['ECONNREFUSED', 'ENOTFOUND', 'EHOSTUNREACH', 'ENETUNREACH', 'EADDRDENIED', 'EAI_AGAIN'],
]);

export async function post(sent: Post): Promise<PostReply> {
  const { url, text, timeoutMs, allowed, timers, signal } = sent;
  const { inTurn = (work) => work() } = sent;
  const { plain, tls } = agentsOf(allowed);
  const over = new AbortController();
  const cancel = timers.after(timeoutMs, () =>
    over.abort(new Error(`no response within ${timeoutMs} ms`)),
  );
  const until = AbortSignal.any([over.signal, signal]);
  const headers = { ...sent.headers, 'content-length': Buffer.byteLength(text) };
  try {
    return await new Promise<PostReply>((resolve, reject) => {
      const isTls = url.protocol === 'https:';
      const send = isTls ? tlsRequest : plainRequest;
      const lookup = checkedLookup(allowed, (look) =>
        inTurn(async () => {
          if (!until.aborted) await look();
        }),
      );
      const outgoing = send(
        url,
        { method: 'POST', headers, lookup, agent: isTls ? tls : plain, signal: until },
        (response) => {
          replyFrom(response, sent).then(resolve, reject);
        },
      );
      outgoing.on('error', reject);
      outgoing.end(text);
    });
  } catch (error) {
    const { code, message } = error as { code?: string; message: string };
    const why = until.aborted ? String((until.reason as Error)?.message ?? message) : message;
    return { kind: UNSENT.has(code ?? '') ? 'unsent' : 'unknown', why };
  } finally {
    cancel();
  }
}

async function replyFrom(response: IncomingMessage, { bytesMax, room }: Post): Promise<PostReply> {
  const { statusCode: status = 0 } = response;
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    const isLarge = size > LARGE_BYTES;
    size += chunk.length;
    if (!isLarge && size > LARGE_BYTES) await room();
    if (size > bytesMax) {
      response.destroy();
      return { kind: 'unknown', why: `its response has more than ${bytesMax} bytes` };
    }
    chunks.push(chunk);
  }
  return { kind: 'replied', status, text: Buffer.concat(chunks).toString() };
}
