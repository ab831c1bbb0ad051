import { memoryBackend } from './memory-backend.ts';
import { registerExecutionContract } from './register-executions.ts';

registerExecutionContract(memoryBackend);
