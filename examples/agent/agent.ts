// An AI agent as a pipeline. Each call of the model and each tool is a step, so a restart repeats neither.
// Tools that change something ask a person first.

import { type Pipeline, pipeline, question } from 'holdfast';

/** A value that survives storage. */
export type Data = string | number | boolean | null | { readonly [name: string]: Data };

export interface Message {
  readonly role: 'user' | 'assistant' | 'tool';
  readonly content: string;
}

/** The model asks for a tool, or finishes with an answer. */
export type Reply =
  | { readonly kind: 'tool'; readonly tool: string; readonly input: Data }
  | { readonly kind: 'answer'; readonly text: string };

export interface Tool {
  readonly description: string;
  /** A person approves each call first. */
  readonly needsApproval?: boolean;
  run(input: Data, call: { readonly idempotencyKey: string }): Promise<Data> | Data;
}

export type Tools = Readonly<Record<string, Tool>>;

/** Any model: a service, or the rules of `rule-model.ts`. */
export type Model = (messages: readonly Message[], tools: Tools) => Promise<Reply>;

export interface Approval {
  readonly approved: boolean;
  readonly reason?: string;
}

interface ToolCall {
  readonly tool: string;
  readonly input: Data;
}

const APPROVAL = question<ToolCall, Approval>({ name: 'approval' });

/** A model that asks for tools without end costs money without end. */
const TURNS_MAX = 20;

export function agentPipeline(model: Model, tools: Tools): Pipeline<string, string> {
  return pipeline<string, string>({
    name: 'agent',
    awaits: [APPROVAL],
    async run(ctx, request) {
      const messages: Message[] = [{ role: 'user', content: request }];
      for (let turn = 0; turn < TURNS_MAX; turn += 1) {
        const reply = await ctx.step('model', () => model(messages, tools));
        if (reply.kind === 'answer') return reply.text;
        const { tool: name, input } = reply;
        messages.push({ role: 'assistant', content: JSON.stringify({ tool: name, input }) });
        const tool = tools[name];
        if (tool === undefined) {
          messages.push({ role: 'tool', content: `There is no tool "${name}".` });
          continue;
        }
        if (tool.needsApproval === true) {
          const asked = await ctx.await(APPROVAL, { request: { tool: name, input } });
          if (asked.kind !== 'answered' || !asked.value.approved) {
            const reason = asked.kind === 'answered' ? (asked.value.reason ?? '') : asked.kind;
            messages.push({ role: 'tool', content: `A person refused ${name}. ${reason}`.trim() });
            continue;
          }
        }
        const result = await ctx.step(name, ({ idempotencyKey }) =>
          tool.run(input, { idempotencyKey }),
        );
        messages.push({ role: 'tool', content: JSON.stringify(result) });
      }
      return `No answer after ${TURNS_MAX} turns.`;
    },
  });
}
