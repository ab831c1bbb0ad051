// The options of a process that talks to a coordinator, and the transport that they choose.

import type { Transport } from '../protocol/messages/envelope.ts';
import { InvalidInput } from '../support/fault.ts';
import {
  headerText,
  integerOption,
  optionalBooleans,
  readList,
  requireMethods,
  requireUrl,
} from '../support/options.ts';
import { systemTimers } from '../support/timer.ts';
import { httpTransport } from './http-transport.ts';
import { streamTransport } from './stream-transport.ts';

export interface ConnectionOptions {
  /**
   * The coordinator, such as `http://127.0.0.1:7433`, or several on the same store. Give this or
   * `transport`.
   */
  readonly url?: string | readonly string[];
  /** A transport other than HTTP. It is closed with what uses it. */
  readonly transport?: Transport;
  /** An access key. Not needed if authentication is off. */
  readonly key?: string;
  /** The project, for access keys of all projects and if authentication is off. */
  readonly project?: string;
  /**
   * True (default): one WebSocket for all messages, if the coordinator and the proxies in between
   * allow it. False: one HTTP request for each message.
   */
  readonly stream?: boolean;
}

type Given<Options> = { readonly [Name in keyof Options]?: Options[Name] | undefined };

const WORD_BYTES_MAX = 256;
const CONNECT_MS_MAX = 31 * 86_400_000;

/** Runs before anything is sent. `what` is the function that the user called. */
export function checkConnectionOptions(
  what: string,
  given: Given<ConnectionOptions> & { readonly connectMs?: number | undefined },
): void {
  const { url, transport, key, project, stream, connectMs } = given;
  if (transport === undefined) checkUrls(what, url);
  else if ((url ?? key ?? project) !== undefined) {
    throw new InvalidInput(
      `${what}: url, key and project are for HTTP. With a transport, pass them to the transport.`,
    );
  } else requireMethods(`${what}: transport`, transport, ['request', 'close']);
  if (key !== undefined) headerText(`${what}: key`, key, WORD_BYTES_MAX);
  if (project !== undefined) headerText(`${what}: project`, project, WORD_BYTES_MAX);
  optionalBooleans(what, { stream });
  if (connectMs !== undefined) {
    integerOption(`${what}: connectMs`, connectMs, { min: 0, max: CONNECT_MS_MAX });
  }
}

function checkUrls(what: string, url: unknown): void {
  const urls = typeof url === 'string' ? [url] : readList(`${what}: url`, url);
  requireUrl(what, urls[0]);
  for (const each of urls) requireUrl(what, each);
}

/** `onRefused` is called when there is no stream although the coordinator offers one. */
export function transportTo(
  { url, transport, key, project, stream = true }: Given<ConnectionOptions>,
  onRefused: (why: unknown) => void = () => undefined,
): Transport {
  const timers = systemTimers;
  const options = { url: url ?? [], timers, ...(key && { key }), ...(project && { project }) };
  return (
    transport ?? (stream ? streamTransport({ ...options, onRefused }) : httpTransport(options))
  );
}
