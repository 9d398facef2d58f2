import { isoTime } from '../json/items.ts'

/** Ids of Trello begin with the time of the creation: seconds since 1970, in 8 hexadecimal digits. */
export const createdAtOf = (id: string): string | undefined =>
  /^[0-9a-f]{24}$/i.test(id) ? isoTime(Number.parseInt(id.slice(0, 8), 16) * 1000) : undefined
