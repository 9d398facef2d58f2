import {
  readAsana,
  readCsv,
  readJira,
  readLinear,
  readTickTick,
  readTodoist,
} from './readers/csv/products.ts'
import { readDocket } from './readers/docket.ts'
import { readDeck, readGitHub, readPlanka, readTrello, readWekan } from './readers/boards/cards.ts'
import type { Reader } from './readers/file.ts'

export const readers = {
  csv: readCsv,
  jira: readJira,
  trello: readTrello,
  linear: readLinear,
  todoist: readTodoist,
  github: readGitHub,
  asana: readAsana,
  planka: readPlanka,
  wekan: readWekan,
  ticktick: readTickTick,
  deck: readDeck,
  docket: readDocket,
} satisfies Record<string, Reader>

/** The systems whose files can be imported. */
export type Source = keyof typeof readers
export const sources = Object.keys(readers) as Source[]
