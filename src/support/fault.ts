// Faults: unexpected failures. An expected negative result is a refusal, never a fault.

import type { Code } from './codes/catalogue.ts';

/** The base class of all errors of Holdfast. Expected refusals are return values, not faults. */
export class Fault extends Error {
  override readonly name: string = 'Fault';
  /** A stable code for programs. The message is for people. */
  readonly code: string;

  constructor(code: Code, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** An argument is invalid. Nothing was sent or written. */
export class InvalidInput extends Fault {
  override readonly name = 'InvalidInput';

  constructor(message: string, options?: ErrorOptions) {
    super('invalid-input', message, options);
  }
}

/** The store could not be reached and did not do the operation. A retry may help. */
export class StoreUnavailable extends Fault {
  override readonly name = 'StoreUnavailable';

  constructor(message: string, options?: ErrorOptions) {
    super('store-unavailable', message, options);
  }
}

/** The store did not respond in time. It may or may not have done the operation. */
export class OutcomeUnknown extends Fault {
  override readonly name = 'OutcomeUnknown';

  constructor(message: string, options?: ErrorOptions) {
    super('outcome-unknown', message, options);
  }
}

/**
 * The access key is not valid, or does not allow the request. A retry with the same key does not
 * help.
 */
export class AccessDenied extends Fault {
  override readonly name = 'AccessDenied';
}

/** Stored data breaks a rule that every writer keeps. A retry does not help. */
export class StoreCorrupt extends Fault {
  override readonly name = 'StoreCorrupt';

  constructor(message: string, options?: ErrorOptions) {
    super('store-corrupt', message, options);
  }
}

/** The store was exported and takes no more writes. Use the store that it was imported into. */
export class StoreSealed extends Fault {
  override readonly name = 'StoreSealed';

  constructor(message: string, options?: ErrorOptions) {
    super('store-sealed', message, options);
  }
}
