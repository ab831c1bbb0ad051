import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AccessDenied, StoreUnavailable } from '../../support/fault.ts';
import { faultOf } from './envelope.ts';

test('an expired signature is repeated, and a refused key is not', () => {
  assert.ok(faultOf('signature-expired', 'late', 403) instanceof StoreUnavailable);
  assert.ok(faultOf('forbidden', 'no', 403) instanceof AccessDenied);
});
