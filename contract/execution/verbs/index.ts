import type { ExecutionCase } from '../contract-case.ts';
import { attributeCases } from './attributes.ts';
import { cancelCases } from './cancel.ts';
import { finishCases } from './finish.ts';
import { gateCases } from './gates.ts';
import { heartbeatCases } from './heartbeats.ts';
import { keyCases } from './keys.ts';
import { maintainCases } from './maintain.ts';
import { childMessageCases } from './messages-to-children.ts';
import { pauseCases } from './pause.ts';
import { recordCases } from './record.ts';
import { shareCases } from './shares.ts';
import { signalCases } from './signal.ts';
import { submitCases } from './submit.ts';
import { successorCases } from './successor.ts';
import { transactCases } from './transact.ts';
import { transactionControlCases } from './transaction-control.ts';
import { wakingCases } from './waking.ts';

export const verbCases: readonly ExecutionCase[] = [
  ...submitCases,
  ...keyCases,
  ...shareCases,
  ...gateCases,
  ...recordCases,
  ...heartbeatCases,
  ...attributeCases,
  ...transactCases,
  ...transactionControlCases,
  ...finishCases,
  ...successorCases,
  ...wakingCases,
  ...cancelCases,
  ...pauseCases,
  ...signalCases,
  ...childMessageCases,
  ...maintainCases,
];
