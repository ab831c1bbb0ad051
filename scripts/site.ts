// The documentation site (ADR 0048).
//
//   npm run docs:build   Builds the site if it changed. Fails on warnings and dead links.
//   npm run docs         Serves the site on a local port and shows edits at once.

import { provideSite } from './site/provide.ts';
import { serveSite } from './site/run.ts';

if (process.argv[2] === 'serve') await serveSite(process.argv.slice(3));
else await provideSite(console.log);
