// What workers run beside what they were given, by name: whoever claims for them asks for it too.

export { isAddedName, ownNamesFor as addedNamesFor } from '../../engine/own-pipelines.ts';
