import { resolve } from 'node:path'

/** A path as it was written: npm runs a script in the folder of package.json, and notes in which folder npm was called. */
export const calledIn = (path: string): string => resolve(process.env.INIT_CWD ?? '', path)
