import { FENCE_ORIGIN, type Fence, toFence } from '../../src/lease/fence.ts';

/** Three grants of one resource, in order. */
export const FIRST: Fence = toFence(FENCE_ORIGIN + 1);
export const SECOND: Fence = toFence(FENCE_ORIGIN + 2);
export const THIRD: Fence = toFence(FENCE_ORIGIN + 3);
