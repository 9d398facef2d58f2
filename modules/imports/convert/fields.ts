import { createHash } from 'node:crypto'
import { Type } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import { parseInstant } from '../../../src/schema/text.ts'
import { CreateField, isKey } from '../../fields/schema.ts'
import {
  acceptsValue,
  type FieldValue,
  maxValueCharacters,
  maxValues,
  optionNamed,
} from '../../fields/values.ts'
import { boolean } from '../../tasks/kinds.ts'
import type { FieldItem } from '../items.ts'
import { digestKey } from './keys.ts'
import type { Notes } from './notes.ts'
import { cut, isBlank, nameIn } from './texts.ts'

const maxKeyCharacters = 40
const { options: Options } = CreateField.properties

/** Returns the key of the custom field for a key or a header of the file. */
export function fieldKeyOf(name: string): string {
  if (isKey(name)) return name
  const words = name
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '_')
  const key = words.replace(/^[_0-9]+|_+$/g, '').slice(0, maxKeyCharacters)
  return key || `f_${createHash('sha256').update(name.normalize()).digest('hex').slice(0, 8)}`
}

/** Assigns unique keys to the fields of a file: different names may lead to the same key. */
export class FieldKeys {
  private readonly keys = new Map<string, string>()
  private readonly used = new Set<string>()
  /** The next number to append to a key, by the start of the key. */
  private readonly numbers = new Map<string, number>()

  /** Returns the same key for the same id, and different keys for different ids. */
  keyFor(name: string, id = name): string {
    const known = this.keys.get(digestKey(id))
    if (known) return known
    const key = fieldKeyOf(name)
    const start = key.slice(0, maxKeyCharacters - 6)
    let n = this.numbers.get(start) ?? 2
    let unique = key
    for (; this.used.has(unique); n++) unique = `${start}_${n}`
    this.numbers.set(start, n)
    this.used.add(unique)
    this.keys.set(digestKey(id), unique)
    return unique
  }
}

export interface FieldSpec extends Pick<FieldItem, 'key' | 'name' | 'type' | 'createdAt'> {
  options?: string[] | null
}

const maxName = 100

/** The time of creation; empty if the text is no time. */
export function originOf(createdAt = ''): { createdAt?: string } {
  const instant = parseInstant(createdAt)
  return instant ? { createdAt: instant } : {}
}

/** Returns a field with a valid key and name. A choice field with invalid options becomes a text field. */
export function fieldSpecOf({ key, name, type, options, createdAt }: FieldSpec): FieldSpec {
  const fieldKey = fieldKeyOf(key)
  const known = { key: fieldKey, name: nameIn(name, maxName) ?? fieldKey, ...originOf(createdAt) }
  if (type !== 'choice') return { ...known, type }
  const all = [...new Set(options?.map((one) => one.trim()))]
  return Value.Check(Options, all) ? { ...known, type, options: all } : { ...known, type: 'text' }
}

/** Returns the values that the fields accept. Adds the other values to the foot of the description. */
export function valuesOf(
  given: Record<string, FieldValue>,
  fields: ReadonlyMap<string, FieldSpec>,
  notes: Notes,
): Record<string, FieldValue> | undefined {
  const values = new Map<string, FieldValue>()
  let characters = 2
  for (const [name, value] of Object.entries(given)) {
    if (typeof value === 'string' && isBlank(value)) continue
    const field = fields.get(fieldKeyOf(name))
    const accepted = field && !values.has(field.key) ? valueOf(field, value) : undefined
    const length = JSON.stringify(accepted ?? '').length + maxKeyCharacters
    if (accepted === undefined || values.size === maxValues || characters + length > maxValueCharacters) {
      const reason = reasonOf(name, field, value, accepted !== undefined)
      notes.addToFoot(`${field?.name ?? name}: ${value}`, reason)
      continue
    }
    characters += length
    values.set(field!.key, accepted)
  }
  return values.size > 0 ? Object.fromEntries(values) : undefined
}

function reasonOf(
  name: string,
  field: FieldSpec | undefined,
  value: FieldValue,
  isAccepted: boolean,
): string {
  if (!field) return `The project has no field "${cut(name, maxName)}"`
  if (isAccepted) return `The task has no space for the field "${field.name}"`
  return `The field "${field.name}" (${field.type}) does not accept "${cut(String(value), 100)}"`
}

/** How texts become values of other types. */
const readers: Partial<Record<FieldSpec['type'], (text: string) => FieldValue | undefined>> = {
  boolean: (text) => boolean.fromText!(text, Type.Boolean()) as FieldValue | undefined,
  date: (text) => parseInstant(text)?.slice(0, 10),
  number: (text) => (text === '' ? undefined : Number(text)),
}

/** Returns undefined if the field does not accept the value. */
function valueOf({ type, options = null }: FieldSpec, given: FieldValue): FieldValue | undefined {
  const text = String(given).trim()
  const value = type === 'choice' ? optionNamed(options, text) : (readers[type] ?? String)(text)
  return acceptsValue({ type, options }, value) ? (value as FieldValue) : undefined
}
