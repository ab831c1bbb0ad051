// A model behind an OpenAI-compatible API: a provider, or a server on your own machine.

import { StepError } from 'holdfast';
import type { Data, Message, Model, Tools } from './agent.ts';

export interface ServiceOptions {
  /** Up to the version, such as https://api.openai.com/v1. */
  readonly url: string;
  readonly key: string;
  readonly model: string;
}

interface Completion {
  readonly choices: readonly [
    {
      readonly message: {
        readonly content: string | null;
        readonly tool_calls?: readonly {
          readonly function: { readonly name: string; readonly arguments: string };
        }[];
      };
    },
  ];
}

const TIMEOUT_MS = 60_000;

export function serviceModel({ url, key, model }: ServiceOptions): Model {
  return async (messages, tools) => {
    const response = await fetch(`${url}/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model, messages: messages.map(toMessage), tools: describe(tools) }),
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    if (!response.ok) {
      // Holdfast retries the step, except after an error that a repeat does not mend.
      const isOurs = response.status >= 400 && response.status < 500 && response.status !== 429;
      const category = isOurs ? 'permanent' : 'retryable';
      throw new StepError(`The model returned ${response.status}.`, { category, code: 'model' });
    }
    const { choices } = (await response.json()) as Completion;
    const { content, tool_calls: [call] = [] } = choices[0].message;
    if (call === undefined) return { kind: 'answer', text: content ?? '' };
    const input = JSON.parse(call.function.arguments) as Data;
    return { kind: 'tool', tool: call.function.name, input };
  };
}

/** Results of tools go as text, so that a conversation needs no ids. */
function toMessage({ role, content }: Message): object {
  return role === 'tool' ? { role: 'user', content: `Result: ${content}` } : { role, content };
}

function describe(tools: Tools): readonly object[] {
  return Object.entries(tools).map(([name, { description }]) => ({
    type: 'function',
    function: { name, description, parameters: { type: 'object', additionalProperties: true } },
  }));
}
