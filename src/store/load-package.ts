import { Fault } from '../support/fault.ts';

/** The driver of a store, which is installed beside Holdfast by those who use the store. */
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
      `The ${store} store needs the package "${name}". Install it beside holdfast: npm install ${name}`,
      { cause },
    );
  }
}
