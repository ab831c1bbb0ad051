import { Fault } from '../support/fault.ts';

/** Loads the driver of a store. Users install it themselves, beside Holdfast. */
export async function loadPackage<Driver>(
  store: string,
  name: string,
  load: () => Promise<Driver>,
): Promise<Driver> {
  try {
    return await load();
  } catch (cause) {
    throw new Fault(
      'driver-missing',
      `The ${store} store needs the package "${name}". Nothing was opened. Install it beside holdfast: npm install ${name}`,
      { cause },
    );
  }
}
