// Sends a message as a signed webhook, as in Standard Webhooks.

import { post } from '../../support/post.ts';
import type { Timers } from '../../support/timer.ts';
import type { Turns } from '../../support/turns.ts';
import type { SendResult } from './delivery-duty.ts';
import type { Transmit } from './sender-api.ts';
import type { ChannelSettings } from './signing-api.ts';

const REPLY_BYTES_MAX = 64 * 1024;
const GONE = 410;

export interface WebhookParts extends Pick<ChannelSettings, 'allowed' | 'timeoutMs'> {
  readonly timers: Timers;
  /**
   * The lookups of names, by project. A process has few in progress at once, and one whose server is
   * silent lasts for many seconds.
   */
  readonly lookups: Turns;
}

export function webhookSender({ allowed, timeoutMs, timers, lookups }: WebhookParts): Transmit {
  return async ({ channel, text, headers, signal }) => {
    const replied = await post({
      ...{ text, allowed, timers, signal, timeoutMs, bytesMax: REPLY_BYTES_MAX },
      url: new URL(channel.url),
      headers: { 'content-type': 'application/json', 'user-agent': 'holdfast', ...headers },
      room: () => Promise.resolve(),
      inTurn: (look) => lookups.take(channel.project, look),
    });
    return replied.kind === 'replied' ? sentWith(replied.status) : { error: replied.why };
  };
}

function sentWith(status: number): SendResult {
  if (status >= 200 && status < 300) return { status };
  const error = `the receiver responded with status ${status}`;
  return { status, error, ...(status === GONE && { isGone: true }) };
}
