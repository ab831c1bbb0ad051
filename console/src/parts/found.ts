import type { ExecutionMessage } from '../../../src/protocol/messages/execution.ts';
import { requestTo } from '../../../src/protocol/messages/request.ts';
import { useRead } from '../api/reads.ts';

const FOUND_MAX = 8;

/** Executions whose pipeline is the text. */
export function useFound(text: string): readonly ExecutionMessage[] {
  const request = requestTo('GET /v1/executions', { pipeline: text, limit: FOUND_MAX });
  const { data } = useRead(request, { isEnabled: /^[\w.-]+$/.test(text) });
  return data?.items ?? [];
}
