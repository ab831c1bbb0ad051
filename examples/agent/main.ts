// An agent with tools handles a complaint. The refund needs a person's approval. The worker is killed while it
// waits for that, and another one continues: it asks the model nothing that is already recorded.
// MODEL_URL, MODEL_KEY and MODEL_NAME name a service with an OpenAI-compatible API; without them, rules decide.
//
//   npm run example examples/agent/main.ts

import { join } from 'node:path';
import { openHoldfast } from 'holdfast';
import { Story } from '../leases/story.ts';
import { agentPipeline } from './agent.ts';
import { ruleModel } from './rule-model.ts';
import { refundsIn, shopTools } from './tools.ts';
import type { WorkerReport } from './worker.ts';

const WORKER = join(import.meta.dirname, 'worker.ts');
const story = new Story();
const storeFile = join(story.folder, 'agent.db');
const refundsFile = join(story.folder, 'refunds.jsonl');
// This process submits and answers. It needs the pipeline to check answers, and runs no code of it.
const agent = agentPipeline(ruleModel, shopTools(refundsFile));

await story.play('An agent that needs approval for refunds', async () => {
  const holdfast = await openHoldfast({ store: storeFile, pipelines: [agent] });
  const start = (name: string) =>
    story.start<WorkerReport>(WORKER, name, { storeFile, refundsFile });
  const first = start('worker-1');
  await first.waitFor('ready');

  const late = await holdfast.submit(agent, 'My order 7 came late. I want my money back.');
  story.print('customer', 'complains about order 7');
  const [asked] = await openQuestions();
  story.print('agent', `asks for approval: ${JSON.stringify(asked?.request)}`);
  const turnsBefore = first.reports.filter(({ kind }) => kind === 'thinks').length;
  await first.kill();
  story.print('system', `SIGKILL: worker-1, after ${turnsBefore} calls of the model`);

  await holdfast.awaits.answer(asked?.id ?? '', { approved: true }, { actor: 'olga' });
  story.print('olga', 'approves while no worker runs');
  const second = start('worker-2');
  story.print('agent', await late.result());
  const turnsAfter = second.reports.filter(({ kind }) => kind === 'thinks').length;
  story.print('worker-2', `called the model ${turnsAfter} time; the tool ran once`);
  story.mustBe(turnsAfter === 1, 'recorded calls of the model are not repeated');

  const again = await holdfast.submit(agent, 'Order 7 was late. Pay me again.');
  const [repeated] = await openQuestions();
  const refusal = { approved: false, reason: 'It was refunded already.' };
  await holdfast.awaits.answer(repeated?.id ?? '', refusal, { actor: 'olga' });
  story.print('olga', 'refuses a second refund');
  story.print('agent', await again.result());
  story.print('agent', await (await holdfast.submit(agent, 'Where is order 8?')).result());
  story.mustBe(refundsIn(refundsFile).join() === '7', 'order 7 was refunded once');
  await second.kill();
  await holdfast.close();

  async function openQuestions() {
    for (;;) {
      const { items } = await holdfast.awaits.list({ open: true });
      if (items.length > 0) return items;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
});
