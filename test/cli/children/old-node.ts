// Imported before anything else: a Node that says it is too old for TypeScript.

Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.19.0' } });
