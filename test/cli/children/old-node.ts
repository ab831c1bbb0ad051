// Import this first: it makes Node report a version that is too old for TypeScript.

Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.19.0' } });
