// Explains why a coordinator did not respond, whether the request may have had its effect, and what
// to check.

import { OutcomeUnknown, StoreUnavailable } from './fault.ts';

/** Certificate errors, as Node and OpenSSL name them. */
const OF_CERTIFICATES: ReadonlySet<string> = new Set([
  ...['DEPTH_ZERO_SELF_SIGNED_CERT', 'SELF_SIGNED_CERT_IN_CHAIN', 'CERT_UNTRUSTED'],
  ...['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY'],
  ...['UNABLE_TO_GET_ISSUER_CERT', 'CERT_HAS_EXPIRED', 'ERR_TLS_CERT_ALTNAME_INVALID'],
]);

/** Errors that only occur before the connection exists. */
const UNSENT: ReadonlySet<string> = new Set([
  ...['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'UND_ERR_CONNECT_TIMEOUT'],
  ...OF_CERTIFICATES,
]);
const CONNECTING: ReadonlySet<unknown> = new Set(['connect', 'getaddrinfo']);

interface NetworkError {
  readonly code?: unknown;
  readonly syscall?: unknown;
  /** One error per address that was tried. */
  readonly errors?: readonly NetworkError[];
}

/** `fetch` puts the error of the network into the cause of its own. */
function networkError(failure: unknown): NetworkError {
  return (failure as { cause?: NetworkError } | undefined)?.cause ?? {};
}

/** The code of the network error, such as `ECONNRESET`, or ''. */
export function networkCode(failure: unknown): string {
  const { code } = networkError(failure);
  return typeof code === 'string' ? code : '';
}

/** True if certainly nothing was sent. */
export function isUnsent(failure: unknown): boolean {
  const { code, syscall, errors = [] } = networkError(failure);
  // An open connection can also report EHOSTUNREACH or ETIMEDOUT, but then not from `connect`.
  const isConnecting = (each: NetworkError): boolean => CONNECTING.has(each.syscall);
  if (isConnecting({ syscall }) || (errors.length > 0 && errors.every(isConnecting))) return true;
  return syscall === undefined && UNSENT.has(String(code));
}

/** The advice for a certificate error. */
export function untrustedText(failure: unknown): string | undefined {
  return OF_CERTIFICATES.has(networkCode(failure)) ? UNTRUSTED : undefined;
}

const UNTRUSTED =
  'Its certificate is not trusted, or has another name. For a certificate authority of your own, start this process with NODE_EXTRA_CA_CERTS=/path/to/ca.pem.';

/** The fault of a request without a complete response. Only a read, or an unsent write, did nothing. */
export function lostReply(
  request: { readonly url: string; readonly path: string; readonly isRead: boolean },
  cause: unknown,
): StoreUnavailable | OutcomeUnknown {
  const { url, path, isRead } = request;
  const code = networkCode(cause);
  const why = code === '' ? '' : ` (${code})`;
  const text = `The coordinator at ${url} did not respond to ${path}${why}.`;
  if (isRead || isUnsent(cause)) {
    const fix = untrustedText(cause) ?? 'Check that it runs and that the address is right.';
    return new StoreUnavailable(`${text} Nothing was written. ${fix}`, { cause });
  }
  return new OutcomeUnknown(
    `${text} The request may or may not have had its effect. Repeat it with the same key or id, or check first.`,
    { cause },
  );
}
