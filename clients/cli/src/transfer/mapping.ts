import { readFile } from 'node:fs/promises'
import { usageError } from '../failure.ts'

/** Returns the mapping. @param given a JSON object, or the path of a file with a JSON object @throws Failure 2 */
export async function readMapping(given: string | undefined): Promise<object | undefined> {
  if (given === undefined) return undefined
  const text = given.trimStart().startsWith('{') ? given : await readFile(given, 'utf8')
  try {
    const value: unknown = JSON.parse(text.replace(/^\ufeff/, ''))
    if (typeof value === 'object' && value && !Array.isArray(value)) return value
  } catch {
    // falls through
  }
  throw usageError('--mapping must be a JSON object, or a file that contains one')
}
