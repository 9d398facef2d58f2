import { readCsv } from './readers/csv-sources/csv.ts'
import type { Reader } from './readers/reader.ts'

/** The systems whose files can be imported. */
export const sources = [
  'csv',
  'jira',
  'trello',
  'linear',
  'todoist',
  'github',
  'asana',
  'planka',
  'wekan',
  'ticktick',
  'deck',
  'docket',
] as const
export type Source = (typeof sources)[number]

export const readers: Partial<Record<Source, Reader>> = {
  csv: readCsv,
}
