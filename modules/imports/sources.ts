import * as boards from './readers/boards/cards.ts'
import * as csv from './readers/csv/products.ts'
import { readDocket } from './readers/docket.ts'
import type { Reader } from './readers/file.ts'

export const readers = {
  csv: csv.readCsv,
  jira: csv.readJira,
  trello: boards.readTrello,
  linear: csv.readLinear,
  todoist: csv.readTodoist,
  github: boards.readGitHub,
  asana: csv.readAsana,
  planka: boards.readPlanka,
  wekan: boards.readWekan,
  ticktick: csv.readTickTick,
  deck: boards.readDeck,
  docket: readDocket,
} satisfies Record<string, Reader>

/** The systems whose files can be imported. */
export type Source = keyof typeof readers
export const sources = Object.keys(readers) as Source[]
