import { isNameText, parseInstant } from '../../../src/schema/text.ts'
import { optionNamed } from '../../fields/values.ts'
import type { FieldItem } from '../items.ts'
import type { Notes } from './notes.ts'
import { fieldKeyOf, maxKeyCharacters } from './field-keys.ts'
import { cut, isBlank, nameIn } from './texts.ts'

export type FieldSpec = Pick<FieldItem, 'key' | 'name' | 'type' | 'options' | 'createdAt'>
type Value = string | number | boolean

const maxName = 100
const maxOptions = 100
const maxOption = 100
const maxText = 2_000
const maxValues = 50
const maxValueCharacters = 20_000

/** Returns a field with a valid key and name. A choice field with invalid options becomes a text field. */
export function fieldSpecOf({ key, name, type, options, createdAt }: FieldSpec): FieldSpec {
  const known = {
    key: fieldKeyOf(key),
    name: nameIn(name, maxName) ?? fieldKeyOf(key),
    ...(createdAt && { createdAt }),
  }
  if (type !== 'choice') return { ...known, type }
  const all = [...new Set((options ?? []).map((one) => one.trim()))]
  const isOption = (one: string) => isNameText(one, { minLength: 1, maxLength: maxOption })
  const isValid = all.length > 0 && all.length <= maxOptions && all.every(isOption)
  return isValid ? { ...known, type, options: all } : { ...known, type: 'text' }
}

/** Returns the values that the fields accept. Adds the other values to the foot of the description. */
export function valuesOf(
  given: Record<string, Value>,
  fields: ReadonlyMap<string, FieldSpec>,
  notes: Notes,
): Record<string, Value> | undefined {
  const values = new Map<string, Value>()
  let characters = 2
  for (const [name, value] of Object.entries(given)) {
    if (typeof value === 'string' && isBlank(value)) continue
    const field = fields.get(fieldKeyOf(name))
    const accepted = field && !values.has(field.key) ? valueOf(field, value) : undefined
    const length = JSON.stringify(accepted ?? '').length + maxKeyCharacters
    if (accepted === undefined || values.size === maxValues || characters + length > maxValueCharacters) {
      notes.addToFoot(
        `${field?.name ?? name}: ${value}`,
        reasonOf(name, field, value, accepted !== undefined),
      )
      continue
    }
    characters += length
    values.set(field!.key, accepted)
  }
  return values.size > 0 ? Object.fromEntries(values) : undefined
}

function reasonOf(name: string, field: FieldSpec | undefined, value: Value, isAccepted: boolean): string {
  if (!field) return `The project has no field "${cut(name, maxName)}"`
  if (isAccepted) return `The task has no space for the field "${field.name}"`
  return `The field "${field.name}" (${field.type}) does not accept "${cut(String(value), 100)}"`
}

/** Returns undefined if the field does not accept the value. */
function valueOf({ type, options }: FieldSpec, given: Value): Value | undefined {
  const text = String(given).trim()
  if (type === 'text') return cut(text, maxText) === text ? text : undefined
  if (type === 'choice') return optionNamed(options ?? null, text)
  if (type === 'boolean') return typeof given === 'boolean' ? given : booleans.get(text.toLowerCase())
  if (type === 'date') return parseInstant(text)?.slice(0, 10)
  return text !== '' && Number.isFinite(Number(text)) ? Number(text) : undefined
}

const booleans = new Map([
  ...['true', 'yes', '1'].map((word) => [word, true] as const),
  ...['false', 'no', '0'].map((word) => [word, false] as const),
])
