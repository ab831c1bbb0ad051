// The documentation site (ADR 0048).
//
//   npm run docs:build   builds it into .cache/site/built, unless it is there; warnings and dead links fail
//   npm run docs         serves it on a local port and shows edits at once

import { provideSite } from './site/provide.ts';
import { serveSite } from './site/run.ts';

if (process.argv[2] === 'serve') await serveSite(process.argv.slice(3));
else await provideSite(console.log);
