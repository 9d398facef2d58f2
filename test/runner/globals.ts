import * as globals from 'bun:test'

// The runtime defines these names only in the files of tests, but their helpers use them too.
Object.assign(globalThis, globals)
