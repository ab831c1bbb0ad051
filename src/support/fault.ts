// Faults: unexpected failures. An expected no is a refusal, never a fault.

/** The base of all faults. `code` is stable and meant for programs; the message is for people. */
export class Fault extends Error {
  override readonly name: string = 'Fault';
  readonly code: string;

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** The caller passed something that can never work. Nothing was sent or written. */
export class InvalidInput extends Fault {
  override readonly name = 'InvalidInput';

  constructor(message: string, options?: ErrorOptions) {
    super('invalid-input', message, options);
  }
}

/** The store did not do it, and is known not to have done it. Trying again may help. */
export class StoreUnavailable extends Fault {
  override readonly name = 'StoreUnavailable';

  constructor(message: string, options?: ErrorOptions) {
    super('store-unavailable', message, options);
  }
}

/** The request left and no answer came: it may or may not have been done. */
export class OutcomeUnknown extends Fault {
  override readonly name = 'OutcomeUnknown';

  constructor(message: string, options?: ErrorOptions) {
    super('outcome-unknown', message, options);
  }
}

/** The key is not valid, or not for this. Repeating the request with the same key does not help. */
export class AccessDenied extends Fault {
  override readonly name = 'AccessDenied';
}

/** What is stored breaks a rule that every writer keeps. Trying again will not help. */
export class StoreCorrupt extends Fault {
  override readonly name = 'StoreCorrupt';

  constructor(message: string, options?: ErrorOptions) {
    super('store-corrupt', message, options);
  }
}

/** The store was exported and takes no more writes. Trying again will not help: use the new one. */
export class StoreSealed extends Fault {
  override readonly name = 'StoreSealed';

  constructor(message: string, options?: ErrorOptions) {
    super('store-sealed', message, options);
  }
}
