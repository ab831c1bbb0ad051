import { memoryBackend } from './memory-backend.ts';
import {
  registerAccessContract,
  registerExecutionContract,
  registerLeaseContract,
} from './register.ts';

registerLeaseContract(memoryBackend);
registerExecutionContract(memoryBackend);
registerAccessContract(memoryBackend);
