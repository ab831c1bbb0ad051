// Builds the console into .cache/console, where `holdfast dev` and `serve` find it in a checkout.

import { provideConsole } from './console/provide.ts';

await provideConsole(console.log);
