import { backendOf } from './backend.ts';
import { grpcKind } from './grpc-kind.ts';
import { registerTransportContract } from './register.ts';

registerTransportContract(backendOf(grpcKind('stream')), { count: 30 });
registerTransportContract(backendOf(grpcKind('unary')), { count: 20 });
