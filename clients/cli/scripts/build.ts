import { chmod } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { bundle } from './bundle.ts'

const root = resolve(import.meta.dirname, '..')
await chmod(await bundle(root, join(root, 'dist')), 0o755)
