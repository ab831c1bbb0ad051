// What a submit message asks for, as the engine takes it.

import type { SubmitOptions } from '../../engine/submission.ts';
import type { SubmitBody } from '../messages/execution.ts';
import { requireOpenName } from './reserved.ts';
import { actingFor, type Call, type Caller, ProblemReply } from './route.ts';

interface Asked {
  readonly target: string | { readonly template: string; readonly version?: number };
  readonly input: unknown;
  readonly options: SubmitOptions;
}

/** The key of the body, or the header that clients send for any POST that may be repeated. */
const KEY_HEADER = 'idempotency-key';

export function submissionOf(
  body: SubmitBody,
  caller: Caller,
  header: Call<never, never, never>['header'],
): Asked {
  const { pipeline, template, input, ...options } = body;
  if ((pipeline === undefined) === (template === undefined)) {
    throw new ProblemReply(400, 'invalid-input', 'Say one of pipeline and template.');
  }
  if (pipeline !== undefined) requireOpenName('A pipeline', pipeline);
  const key = options.key ?? header(KEY_HEADER);
  const traceparent = traceOf(header('traceparent'));
  return {
    target:
      template === undefined
        ? (pipeline ?? '')
        : {
            template: template.id,
            ...(template.version === undefined ? {} : { version: template.version }),
          },
    input,
    options: {
      ...options,
      ...actingFor(caller),
      ...(key === undefined ? {} : { key }),
      ...(traceparent === undefined ? {} : { traceparent }),
    },
  };
}

const TRACEPARENT = /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}(-.{0,64})?$/;

/** What is none is left out, as W3C Trace Context asks: it is no reason to refuse what was asked for. */
function traceOf(text: string | undefined): string | undefined {
  return text !== undefined && TRACEPARENT.test(text) ? text : undefined;
}
