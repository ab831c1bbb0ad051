import { after } from 'node:test';
import type { SqsOptions } from '../../src/server/serve.ts';
import { backendOf } from './backend.ts';
import { registerTransportContract } from './register.ts';
import { SqsStand } from './sqs-stand.ts';

const stand = await SqsStand.open();
after(() => stand.close());

let options: SqsOptions;

registerTransportContract(
  backendOf({
    name: 'SQS',
    offers: ['envelopes', 'signed'],
    isSilent: true,
    async options() {
      options = stand.options();
      return { sqs: options };
    },
    transport: (_server, _key, as) => stand.transport(options, as),
    twice: (_server, _key, ask) => stand.twice(options, ask),
    async deliver(_server, _key, envelope) {
      const replyTo = stand.queue('reply');
      const text = stand.signed(envelope as object, 'none', replyTo);
      const [reply] = await stand.exchange(options, { text, replyTo });
      if (reply === undefined) throw new Error('It was put aside.');
      return reply;
    },
    async forge(_server, ask, how) {
      const replyTo = stand.queue('reply');
      const text = stand.signed(ask, how, replyTo);
      return (await stand.exchange(options, { text, replyTo }))[0];
    },
  }),
  { count: 30 },
);
