// node test/simulate/print-trace.ts <seed>: prints the digest of the trace of a seed.

import { simulate } from '../../contract/index.ts';
import { digestOf } from '../../src/support/digest.ts';

const { trace } = await simulate({ seed: Number(process.argv[2]) });
console.log(digestOf(Buffer.from(trace.join('\n'))));
