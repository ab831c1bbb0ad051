// Checks the S3 server of the archive tests against the published protocol.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { refuseUnsigned, type S3Request } from './s3.ts';

/** The example of "Authenticating Requests: Using the Authorization Header" in Amazon's reference of S3. */
const CREDENTIALS = {
  accessKeyId: 'AKIAIOSFODNN7EXAMPLE',
  secretAccessKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
};
const SIGNATURE = 'f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41';
const NOW = Date.UTC(2013, 4, 24);
const REQUEST: S3Request = {
  method: 'GET',
  target: '/test.txt',
  headers: {
    host: 'examplebucket.s3.amazonaws.com',
    range: 'bytes=0-9',
    'x-amz-content-sha256': 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
    'x-amz-date': '20130524T000000Z',
    authorization: `AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, SignedHeaders=host;range;x-amz-content-sha256;x-amz-date, Signature=${SIGNATURE}`,
  },
  body: Buffer.alloc(0),
};

test('the published example passes the signature check, and every changed request fails it', () => {
  const code = (change: Partial<S3Request>, nowMs = NOW): string | undefined =>
    refuseUnsigned({ ...REQUEST, ...change }, CREDENTIALS, nowMs)?.[0];
  const headed = (headers: object): string | undefined =>
    code({ headers: { ...REQUEST.headers, ...headers } });
  const { authorization = '' } = REQUEST.headers;
  const replaced = (from: string, to: string): string | undefined =>
    headed({ authorization: String(authorization).replace(from, to) });
  assert.equal(code({}), undefined);
  assert.equal(code({ target: '/test.txt?acl' }), 'SignatureDoesNotMatch');
  assert.equal(code({ target: '/Test.txt' }), 'SignatureDoesNotMatch');
  assert.equal(code({ method: 'PUT' }), 'SignatureDoesNotMatch');
  assert.equal(code({ body: Buffer.from('x') }), 'XAmzContentSHA256Mismatch');
  assert.equal(code({}, NOW + 16 * 60_000), 'RequestTimeTooSkewed');
  assert.equal(code({ headers: {} }), 'AccessDenied');
  assert.equal(headed({ host: 'elsewhere' }), 'SignatureDoesNotMatch');
  assert.equal(headed({ range: 'bytes=0-8' }), 'SignatureDoesNotMatch');
  assert.equal(headed({ 'x-amz-acl': 'public-read' }), 'AccessDenied');
  assert.equal(replaced('AKIAIOSFODNN7EXAMPLE', 'NOBODY'), 'InvalidAccessKeyId');
  assert.equal(replaced(SIGNATURE, SIGNATURE.replace('f0', '0f')), 'SignatureDoesNotMatch');
  assert.equal(replaced('us-east-1', 'eu-west-1'), 'SignatureDoesNotMatch');
});
