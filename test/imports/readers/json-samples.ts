import { readers } from '../../../modules/imports/sources.ts'

const folder = new URL('../files/json/', import.meta.url)

/** The files of other products. `documents`: the file has several JSON documents, one after the other. */
export const samples = [
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
] as const

export const textOf = (file: string): Promise<string> => Bun.file(new URL(file, folder)).text()

export const readerOf = (source: (typeof samples)[number]['source']) => readers[source]!
