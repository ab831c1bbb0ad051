// Signs each message and sends it in the manner of its channel.

import type { Clock } from '../../support/clock.ts';
import type { Send, SendResult } from './delivery-duty.ts';
import type { Channel } from './model.ts';
import { type ChannelSettings, requireTarget, signedMessage } from './signing-api.ts';
import { sqsSender } from './sqs-api.ts';
import { type WebhookParts, webhookSender } from './webhook-api.ts';

/** Never rejects, unless a package is missing. */
export type Transmit = (message: {
  readonly channel: Channel;
  readonly text: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
}) => Promise<SendResult>;

const ERROR_CHARS_MAX = 256;

interface SenderParts extends ChannelSettings, WebhookParts {
  readonly clock: Pick<Clock, 'wallMs'>;
}

export function channelSender(parts: SenderParts): Send {
  const { sqs } = parts;
  const webhook = webhookSender(parts);
  const queue = sqs && sqsSender({ ...parts, ...sqs });
  return async (channel, delivery, signal) => {
    try {
      // The settings may have changed since the channel was created.
      requireTarget(channel, parts);
      const transmit = channel.kind === 'sqs' && queue !== undefined ? queue : webhook;
      const signed = signedMessage(parts, channel, delivery);
      return shortened(await transmit({ ...signed, channel, signal }));
    } catch (error) {
      return shortened({ error: (error as Error).message });
    }
  };
}

function shortened({ error, ...sent }: SendResult): SendResult {
  return { ...sent, ...(error !== undefined && { error: error.slice(0, ERROR_CHARS_MAX) }) };
}
