// Why somebody on the network did not answer, and what to look at.

/** As Node and OpenSSL name what is wrong with a certificate. */
const OF_CERTIFICATES: ReadonlySet<string> = new Set([
  ...['DEPTH_ZERO_SELF_SIGNED_CERT', 'SELF_SIGNED_CERT_IN_CHAIN', 'CERT_UNTRUSTED'],
  ...['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY'],
  ...['UNABLE_TO_GET_ISSUER_CERT', 'CERT_HAS_EXPIRED', 'ERR_TLS_CERT_ALTNAME_INVALID'],
]);

const UNSENT: ReadonlySet<string> = new Set([
  ...['ECONNREFUSED', 'ENOTFOUND', 'EHOSTUNREACH'],
  ...OF_CERTIFICATES,
]);

/** What `fetch` failed with says so in its cause. */
function codeOf(failure: unknown): string {
  const code = (failure as { cause?: { code?: unknown } } | undefined)?.cause?.code;
  return typeof code === 'string' ? code : '';
}

/** It is known that nothing was sent. */
export function isUnsent(failure: unknown): boolean {
  return UNSENT.has(codeOf(failure));
}

/** What to do, where it is the certificate. */
export function untrustedText(failure: unknown): string | undefined {
  return OF_CERTIFICATES.has(codeOf(failure)) ? UNTRUSTED : undefined;
}

const UNTRUSTED =
  'Its certificate is not trusted here, or is of another name. For one of your own authority, start this process with NODE_EXTRA_CA_CERTS=/path/of/ca.pem.';

/** For people. */
export function noAnswerText(url: string, path: string, failure: unknown): string {
  const code = codeOf(failure);
  const why = code === '' ? '' : ` (${code})`;
  const what = untrustedText(failure) ?? 'Is it running, and is this its address?';
  return `The coordinator at ${url} did not answer ${path}${why}. ${what}`;
}
