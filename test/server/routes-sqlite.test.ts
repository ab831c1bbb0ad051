import { registerRoutes } from './routes/all.ts';

registerRoutes('sqlite');
