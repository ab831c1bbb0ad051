import type { ExecutionMessage } from '../../../src/protocol/messages/execution.ts';
import { requestTo } from '../../../src/protocol/messages/request.ts';
import { useRead } from '../api/reads.ts';

const FOUND_MAX = 8;
const TEXT_MIN = 2;

/** Executions whose key or ID begins with the text. */
export function useFound(text: string): readonly ExecutionMessage[] {
  const request = requestTo('GET /v1/executions', { q: text, limit: FOUND_MAX });
  const { data } = useRead(request, { isEnabled: text.length >= TEXT_MIN && !/[:=\s]/.test(text) });
  return data?.items ?? [];
}
