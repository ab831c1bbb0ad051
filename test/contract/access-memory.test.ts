import { memoryBackend } from './memory-backend.ts';
import { registerAccessContract } from './register-access.ts';

registerAccessContract(memoryBackend);
