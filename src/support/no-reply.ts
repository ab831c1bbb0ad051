// Explains why a server did not answer, and what to check.

/** Certificate errors, as Node and OpenSSL name them. */
const OF_CERTIFICATES: ReadonlySet<string> = new Set([
  ...['DEPTH_ZERO_SELF_SIGNED_CERT', 'SELF_SIGNED_CERT_IN_CHAIN', 'CERT_UNTRUSTED'],
  ...['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY'],
  ...['UNABLE_TO_GET_ISSUER_CERT', 'CERT_HAS_EXPIRED', 'ERR_TLS_CERT_ALTNAME_INVALID'],
]);

const UNSENT: ReadonlySet<string> = new Set([
  ...['ECONNREFUSED', 'ENOTFOUND', 'EHOSTUNREACH'],
  ...OF_CERTIFICATES,
]);

/** `fetch` puts the code into the cause of its error. */
function codeOf(failure: unknown): string {
  const code = (failure as { cause?: { code?: unknown } } | undefined)?.cause?.code;
  return typeof code === 'string' ? code : '';
}

/** True if certainly nothing was sent. */
export function isUnsent(failure: unknown): boolean {
  return UNSENT.has(codeOf(failure));
}

/** The advice for a certificate error. */
export function untrustedText(failure: unknown): string | undefined {
  return OF_CERTIFICATES.has(codeOf(failure)) ? UNTRUSTED : undefined;
}

const UNTRUSTED =
  'Its certificate is not trusted, or has another name. For a certificate authority of your own, start this process with NODE_EXTRA_CA_CERTS=/path/to/ca.pem.';

export function noReplyText(url: string, path: string, failure: unknown): string {
  const code = codeOf(failure);
  const why = code === '' ? '' : ` (${code})`;
  const what = untrustedText(failure) ?? 'Check that it runs and that the address is right.';
  return `The coordinator at ${url} did not respond to ${path}${why}. ${what}`;
}
