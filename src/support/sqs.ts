// The queues that a coordinator may send to, and the client that reaches them.

/** An `SQSClient` of `@aws-sdk/client-sqs`. */
export interface SqsClient {
  /** Sends a command. */
  send(command: never, options?: { abortSignal?: AbortSignal }): Promise<unknown>;
}

/**
 * The client takes the host from the URL of a queue, so a URL must begin as the operator wrote it.
 * An allowed URL that ends in `*` allows all that start with it.
 */
export function isAmongQueues(url: unknown, allowed: readonly string[]): url is string {
  if (typeof url !== 'string') return false;
  return allowed.some((each) => {
    if (!each.endsWith('*')) return url === each;
    const beginning = each.slice(0, -1);
    return url.startsWith(beginning) && isPlain(url.slice(beginning.length));
  });
}

/** `..` and escapes would leave the allowed beginning. */
function isPlain(ending: string): boolean {
  return /^[\w./-]*$/.test(ending) && !ending.includes('..');
}
