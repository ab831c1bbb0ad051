// What workers run beside what they were given, by name: whoever claims for them asks for it too.

export { ownNamesFor as addedNamesFor } from '../../engine/own-pipelines.ts';
