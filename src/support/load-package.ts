import { Fault } from './fault.ts';

/** Loads a package that users install themselves, beside Holdfast. `what` needs it. */
export async function loadPackage<Driver>(
  what: string,
  name: string,
  load: () => Promise<Driver>,
): Promise<Driver> {
  try {
    return await load();
  } catch (cause) {
    throw new Fault(
      'driver-missing',
      `${what} needs the package "${name}". Nothing was opened. Install it beside holdfast: npm install ${name}`,
      { cause },
    );
  }
}
