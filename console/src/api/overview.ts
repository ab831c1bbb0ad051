import type { OverviewMessage } from '../../../src/features/overview/messages.ts';
import { requestTo } from '../../../src/protocol/messages/request.ts';
import { type Read, useRead } from './reads.ts';

const EVERY_MS = 3_000;

/** The store's counts. All parts of the page share one request. */
export function useOverview(isEnabled = true): Read<OverviewMessage> {
  return useRead(requestTo('GET /v1/overview'), { everyMs: EVERY_MS, isEnabled });
}
