import { nearest } from '../../../src/schema/nearest.ts'
import { operationFields } from '../tools/operations.ts'

/** Returns details of a batch error: the operation that failed, and the field or reference that is wrong. */
export function operationDetails(message: string, operations: unknown[] = []): object {
  const [, n, text = ''] = /^operations\[(\d+)\]: (.*)$/s.exec(message) ?? []
  if (n === undefined) return {}
  const operation = (operations[Number(n)] ?? {}) as Record<string, unknown>
  const op = String(operation.op).slice(0, maxOpCharacters)
  const fields = operationFields.get(op)?.map(({ name }) => name)
  const position = { operation: Number(n), op }
  if (!fields) return { ...position, operations: [...operationFields.keys()] }
  if (text.includes('is not known here')) return { ...position, fields }
  const field = fieldIn(text, op, operation)
  if (field === undefined) return position
  const earlier = operations.slice(0, Number(n)).flatMap((one) => (one as { as?: string } | null)?.as ?? [])
  const values = [operation[field]].flat()
  const unknown = values.find((value) => isReference(value) && !earlier.includes(value.slice(1)))
  const suggestion = isReference(unknown) ? nearest(unknown.slice(1), earlier) : undefined
  return {
    ...{ ...position, field, value: shown(unknown ?? operation[field]) },
    ...(suggestion !== undefined && { didYouMean: `#${suggestion}` }),
  }
}

const maxOpCharacters = 100
const maxShown = 2_000
const shown = (value: unknown) => (JSON.stringify(value ?? null).length <= maxShown ? value : undefined)

const isReference = (value: unknown): value is string => typeof value === 'string' && value.startsWith('#')

/** Returns the field that an error begins with. For `Task not found`, returns the field with the task's id. */
function fieldIn(text: string, op: string, operation: Record<string, unknown>): string | undefined {
  const [first = ''] = text.split(/[ .]/, 1)
  if (first in operation) return first
  const noun = /^(\w+) not found$/.exec(text)?.[1]?.toLowerCase()
  if (noun === undefined) return undefined
  if (noun === 'user') return 'email'
  return `${noun}Id` in operation ? `${noun}Id` : op.startsWith(`${noun}.`) ? 'id' : undefined
}
