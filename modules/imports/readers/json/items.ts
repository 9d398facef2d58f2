import type { Entry } from './entry.ts'

/** Returns the item without absent and empty parts. */
export const itemOf = <T extends object>(parts: T): T =>
  Object.fromEntries(Object.entries(parts).filter(([, value]) => !isEmpty(value))) as T

const isEmpty = (value: unknown): boolean =>
  value === undefined || (Array.isArray(value) ? value.length === 0 : isEmptyObject(value))
const isEmptyObject = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && Object.keys(value).length === 0

export const isoTime = (milliseconds: number): string | undefined =>
  Number.isFinite(milliseconds) && Math.abs(milliseconds) <= 8.64e15
    ? new Date(milliseconds).toISOString()
    : undefined

export const byId = (entries: Entry[]): Map<string, Entry> =>
  new Map(entries.map((entry) => [entry.required('id'), entry]))

/** Entries without the key are left out. */
export function groupBy(entries: Entry[], key: string): Map<string, Entry[]> {
  const groups = Map.groupBy(entries, (entry) => entry.text(key) ?? '')
  groups.delete('')
  return groups
}
