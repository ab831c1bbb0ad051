// Runs the agent in its own process. It uses a model service if MODEL_URL names one, or else rules.

import { openHoldfast } from 'holdfast';
import { ordered, sendReport } from '../leases/child-process.ts';
import { agentPipeline, type Model } from './agent.ts';
import { ruleModel } from './rule-model.ts';
import { serviceModel } from './service-model.ts';
import { shopTools } from './tools.ts';

export interface WorkerOrder {
  readonly name: string;
  readonly storeFile: string;
  readonly refundsFile: string;
}

export type WorkerReport =
  | { readonly kind: 'thinks'; readonly turn: number }
  | { readonly kind: 'ready' };

const TTL_MS = 1_500;

const { name, storeFile, refundsFile } = await ordered<WorkerOrder>();
const { MODEL_URL: url, MODEL_KEY: key = '', MODEL_NAME: model = '' } = process.env;
const chosen = url === undefined ? ruleModel : serviceModel({ url, key, model });

const reported: Model = async (messages, tools) => {
  await sendReport<WorkerReport>({ kind: 'thinks', turn: messages.length });
  return chosen(messages, tools);
};

const holdfast = await openHoldfast({ store: storeFile });
const pipelines = [agentPipeline(reported, shopTools(refundsFile))];
await holdfast.worker({ pipelines, owner: name, ttlMs: TTL_MS });
await sendReport<WorkerReport>({ kind: 'ready' });
