import { usageError } from '../failure.ts'

export interface Batch {
  operations: unknown[]
  [field: string]: unknown
}

/**
 * Reads a batch: a JSON array of operations, an object with `operations`, or one operation in each line.
 * @throws Failure 2 with the line that is not JSON
 */
export function readBatch(text: string): Batch {
  const content = text.replace(/^\ufeff/, '').trim()
  if (content === '') throw usageError('batch reads operations from standard input, but the input is empty')
  const whole = parsed(content)
  if (Array.isArray(whole)) return { operations: whole }
  if (isObject(whole) && Array.isArray(whole.operations)) return whole as Batch
  if (isObject(whole) && 'op' in whole) return { operations: [whole] }
  if (whole !== undefined)
    throw usageError(
      'The input must be one operation in each line, an array of operations, or {"operations": [...]}',
    )
  return { operations: linesOf(content) }
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null

function linesOf(content: string): unknown[] {
  return content.split('\n').flatMap((line, index) => {
    if (line.trim() === '') return []
    const value = parsed(line)
    if (!isObject(value)) throw usageError(`Line ${index + 1} of the input is not a JSON object`)
    return [value]
  })
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
