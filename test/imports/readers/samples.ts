import type { Source } from '../../../modules/imports/sources.ts'

const folder = new URL('../files/', import.meta.url)

interface Sample {
  source: Source
  file: string
  /** The file has several JSON documents, one after the other. */
  documents?: boolean
}

/** The JSON files of other products. */
export const jsonSamples: Sample[] = [
  { source: 'trello', file: 'trello.json' },
  { source: 'trello', file: 'trello-wekan.json' },
  { source: 'trello', file: 'trello-deck.json' },
  { source: 'trello', file: 'trello-planka.json' },
  { source: 'wekan', file: 'wekan.json' },
  { source: 'planka', file: 'planka.ndjson', documents: true },
  { source: 'deck', file: 'deck.json' },
  { source: 'deck', file: 'deck-stacks.json' },
  { source: 'github', file: 'github-gh.json' },
  { source: 'github', file: 'github-pages.ndjson', documents: true },
  { source: 'github', file: 'github-lines.ndjson', documents: true },
  { source: 'asana', file: 'asana.json' },
]

export const csvSamples: Sample[] = (['jira', 'linear', 'todoist', 'ticktick', 'asana'] as const).map(
  (source) => ({ source, file: `${source}.csv` }),
)

export const textOf = (file: string): Promise<string> =>
  Bun.file(new URL(file.endsWith('.csv') ? file : `json/${file}`, folder)).text()
