import type { Entry } from '../json/entry.ts'

/** Exports of some versions have `id` in place of `_id`. */
export const idOf = (entry: Entry): string => entry.text('_id') ?? entry.required('id')
