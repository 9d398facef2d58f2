import type { Docket } from '../../../typescript/src/index.ts'
import { usageError } from '../failure.ts'

type Value = string | number | boolean | null

/** Reads `size=large,estimate=3` with the types of the project's fields. An empty value removes the value of the task. */
export async function fieldValues(
  docket: Docket,
  projectId: string,
  text: string,
): Promise<Record<string, Value>> {
  const fields = await docket.fields.list({ projectId }).all()
  const typeOf = new Map(fields.map(({ key, type }): [string, string] => [key, type]))
  return Object.fromEntries(
    text.split(',').map((pair) => {
      const [, key, value] = /^\s*([^=]+)=(.*)$/.exec(pair) ?? []
      if (key === undefined || value === undefined)
        throw usageError('--fields must be key=value, separated by commas')
      return [key, valueOf(value, typeOf.get(key))]
    }),
  )
}

/** The service checks the value, so a text that does not fit stays a text. */
function valueOf(text: string, type: string | undefined): Value {
  if (text === '') return null
  if (type === 'number' && Number.isFinite(Number(text))) return Number(text)
  if (type === 'boolean' && /^(true|false)$/.test(text)) return text === 'true'
  return text
}
