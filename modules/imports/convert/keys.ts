import { createHash } from 'node:crypto'
import { isId } from '../../../src/id-format.ts'
import { newId } from '../../../src/ids.ts'
import { isNameText, parseInstant } from '../../../src/schema/input.ts'
import { definitionOf } from '../../../src/model/model.ts'
import { type ChildItem, ImportError, type TaskItem } from '../items.ts'
import { cut } from './texts.ts'

const digestOf = (...parts: unknown[]): Buffer => createHash('sha256').update(JSON.stringify(parts)).digest()
const digestCharacters = 22
const textOf = (digest: Buffer): string => digest.toString('base64url').slice(0, digestCharacters)

const maxExternalId = 200
const isExternalId = (text: string) =>
  text === text.trim() && isNameText(text, { minLength: 1, maxLength: maxExternalId })

/** Returns the external id of a task. A digest replaces an id that is not valid, such as a long one. */
export function externalIdOf(
  source: string,
  { key, externalId }: Pick<TaskItem, 'key' | 'externalId'>,
): string {
  const id = externalId ?? `${source}:${key}`
  return isExternalId(id) ? id : `${source}:${textOf(digestOf(id))}`
}

/** Longer keys are replaced by digests: Postgres cannot index long texts, and imports keep keys in memory. */
const maxKey = 200

export const digestKey = (key: string): string =>
  key.length > digestCharacters ? textOf(digestOf(key)) : key
export const shortKey = (key: string): string => (key.length > maxKey ? digestKey(key) : key)

const maxKeptId = 1_000

/** The maximum number of characters that a map keeps in memory while a file is read. */
const maxKeptCharacters = 32_000_000
/** Links have no text to count: each counts as this many characters. */
export const linkCharacters = 100

/** A map from the ids or names of a file's rows. Long ones are replaced by digests. */
export class KeyMap<Value> {
  private readonly values = new Map<string, Value>()
  private characters = 0

  get(key: string): Value | undefined {
    return this.values.get(digestKey(key))
  }

  /** @param characters of the value @throws ImportError if the values have too many characters */
  set(key: string, value: Value, characters = typeof value === 'string' ? value.length : 0): void {
    this.characters += characters
    const max = maxKeptCharacters.toLocaleString('en')
    if (this.characters > maxKeptCharacters)
      throw new ImportError(`The names and links in the file have more than ${max} characters`)
    this.values.set(digestKey(key), value)
  }
}

/**
 * Replaces long keys of an item by digests, and an external id that is not valid. The foot of the description contains
 * the replaced external id.
 */
export function shortenKeys(given: TaskItem | ChildItem, source: string): void {
  const item = given as Partial<Omit<TaskItem, 'kind'>> & { kind: string; task?: string }
  const { key, externalId = `${source}:${key}`, notes = [] } = item
  if (item.kind === 'task' && !isExternalId(externalId))
    item.notes = [...notes, `External id: ${cut(externalId, maxKeptId)}`]
  for (const name of ['key', 'parent', 'task', 'after'] as const)
    if (item[name] !== undefined) item[name] = shortKey(item[name])
  if (item.blockedBy) item.blockedBy = item.blockedBy.map(shortKey)
  if (item.externalId !== undefined) item.externalId = externalIdOf(source, { key: '', externalId })
}

/** Returns digests as keys for items without a key. The key of the second equal item ends with `#2`, and so on. */
export class DigestKeys {
  /** The number of items by the first 48 bits of their digests. A collision only adds `#2` to a key. */
  private readonly counts = new Map<number, number>()

  next(...content: unknown[]): string {
    const digest = digestOf(...content)
    const bits = digest.readUIntBE(0, 6)
    const count = (this.counts.get(bits) ?? 0) + 1
    this.counts.set(bits, count)
    return textOf(digest) + (count > 1 ? `#${count}` : '')
  }

  /** Returns the key of a child without an id: its task and text, or its task, author and time. */
  ofChild(item: ChildItem): string {
    const { asChild, person } = definitionOf(item.kind)
    const content = person ? [item.author?.name, item.createdAt] : [item[asChild!.text as keyof ChildItem]]
    return this.next(item.kind, item.task, ...content)
  }
}

/** Returns the last 16 hex digits of a child's id. Each import of the file gives the child the same digits. */
export function childTail(taskId: string, source: string, kind: string, key: string): string {
  const hex = digestOf(taskId, source, kind, key).toString('hex')
  return `${'89ab'[Number.parseInt(hex[0]!, 16) & 3]}${hex.slice(1, 16)}`
}

const maxMs = 2 ** 48 - 1

/** Returns a UUIDv7. @param ms since 1970 @param n orders the rows of the same time */
export function childId(ms: number, n: number, tail: string): string {
  const time = Math.min(Math.max(ms, 0), maxMs).toString(16).padStart(12, '0')
  const count = (n & 0xfff).toString(16).padStart(3, '0')
  return `${time.slice(0, 8)}-${time.slice(8)}-7${count}-${tail.slice(0, 4)}-${tail.slice(4)}`
}

/**
 * Returns the id of a new task. Lists sort tasks by id, so the id contains the time of the task's creation, or the time
 * in its exported id.
 * @param n orders the tasks of the same time
 */
export function taskIdOf(item: Pick<TaskItem, 'createdAt' | 'isExported' | 'key'>, n: number): string {
  const { createdAt = '', isExported, key } = item
  const id = newId()
  const at = isExported && isId(key) ? msOf(key) : Date.parse(parseInstant(createdAt.trim()) ?? '')
  return Number.isNaN(at) ? id : childId(Math.min(at + (n >> 12), msOf(id)), n, last16Digits(id))
}

/** Returns the last 16 hex digits. */
export const last16Digits = (id: string): string => id.slice(19).replace('-', '')

/** Returns the time of a UUIDv7 in ms since 1970. */
export const msOf = (id: string): number => Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16)
