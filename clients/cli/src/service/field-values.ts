import type { Docket } from '../../../typescript/src/index.ts'
import { usageError } from '../failure.ts'

type Value = string | number | boolean | null

/** Reads `size=large,estimate=3`. Converts each value to the type of its custom field. An empty value becomes null. */
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

/** Returns a text of the wrong type unchanged: the service rejects it. */
function valueOf(text: string, type: string | undefined): Value {
  if (text === '') return null
  if (type === 'number' && Number.isFinite(Number(text))) return Number(text)
  if (type === 'boolean' && /^(true|false)$/.test(text)) return text === 'true'
  return text
}
