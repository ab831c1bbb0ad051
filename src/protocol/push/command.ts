// What is said to an endpoint: for it alone.

import { shownUrl } from '../../support/hidden-options.ts';
import { secureBytes } from '../../support/random.ts';
import { WORK_VERSION } from '../messages/envelope.ts';
import type { PushCommand } from '../messages/push.ts';
import type { Endpoint } from './push-options.ts';

export type Said = Pick<PushCommand, 'kind' | 'drive' | 'nonce'>;

const NONCE_BYTES = 16;

/** For a probe. */
export function newNonce(): string {
  return Buffer.from(secureBytes(NONCE_BYTES)).toString('base64url');
}

/** Signed, as it is sent. */
export function commandFor(
  { url, project, signer }: Endpoint,
  said: Said,
  { at, until }: Pick<PushCommand, 'at' | 'until'>,
): string {
  const claims = { to: 'worker', at, until, v: WORK_VERSION } as const;
  const command: PushCommand = { ...claims, audience: shownUrl(url), project, ...said };
  return signer.sign(command);
}
