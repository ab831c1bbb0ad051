import { memoryBackend } from './memory-backend.ts';
import { registerLeaseContract } from './register.ts';

registerLeaseContract(memoryBackend);
