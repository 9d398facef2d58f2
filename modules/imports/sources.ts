import { readAsana } from './readers/asana/asana.ts'
import { readCsv } from './readers/csv-sources/csv.ts'
import { readJira } from './readers/csv-sources/jira.ts'
import { readLinear } from './readers/csv-sources/linear.ts'
import { readTickTick } from './readers/csv-sources/ticktick.ts'
import { readDocket } from './readers/docket/docket.ts'
import { readTodoist } from './readers/csv-sources/todoist.ts'
import { readDeck } from './readers/deck/deck.ts'
import { readPlanka } from './readers/planka/planka.ts'
import { readTrello } from './readers/trello/trello.ts'
import { readWekan } from './readers/wekan/wekan.ts'
import { readGitHub } from './readers/github/github.ts'
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

export const readers: Record<Source, Reader> = {
  csv: readCsv,
  jira: readJira,
  linear: readLinear,
  todoist: readTodoist,
  asana: readAsana,
  ticktick: readTickTick,
  trello: readTrello,
  github: readGitHub,
  planka: readPlanka,
  wekan: readWekan,
  deck: readDeck,
  docket: readDocket,
}
