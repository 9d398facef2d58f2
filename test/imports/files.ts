import type { Mapping } from '../../modules/imports/mapping.ts'
import type { Source } from '../../modules/imports/sources.ts'

interface Sample {
  source: Source
  file: string
  /** The file has several JSON documents, one after the other. */
  documents?: boolean
}

const ofJson = (name: string, end = 'json'): Sample => ({
  ...{ source: name.split('-')[0] as Source, file: `${name}.${end}` },
  documents: end === 'ndjson',
})

/** Whole files of other products. The folder `results` has the projects that they become. */
export const samples: Sample[] = [
  ...['trello', 'trello-wekan', 'trello-deck', 'trello-planka', 'wekan'].map((name) => ofJson(name)),
  ...['deck', 'deck-stacks', 'github-gh', 'asana'].map((name) => ofJson(name)),
  ...['planka', 'github-pages', 'github-lines'].map((name) => ofJson(name, 'ndjson')),
  ...(['jira', 'linear', 'todoist', 'ticktick', 'asana'] as const).map((source) => {
    return { source, file: `${source}.csv` }
  }),
]

const textIn = (path: string) => Bun.file(new URL(path, import.meta.url)).text()

export const textOf = (file: string) => textIn(file.endsWith('.csv') ? `files/${file}` : `files/json/${file}`)

/** A file, and what it becomes. Tasks omit the values that a new task has too. */
export interface FileCase {
  name?: string
  source?: Source
  mapping?: Mapping
  /** A text, or the value of a JSON file. */
  file?: string | object
  /** The Unicode form of the file, if not NFC. */
  form?: 'NFD'
  /** In place of a file: a column with this header and the `cells` of all `tasks`, whose titles are their numbers. */
  header?: string
  tasks?: (Record<string, unknown> & { cells?: string[] })[]
  report?: string[]
  /** The description of the project. */
  description?: string
  /** The types of the fields that the project has after the import. */
  fields?: Record<string, string>
  /** The mapping that the import shows. */
  proposes?: Mapping
  error?: string
}

const yamlIn = async (path: string) => Bun.YAML.parse(await textIn(path))
const names = ['products', 'columns', 'cells', 'dates', 'boards', 'docket', 'rejected'] as const

/** Returns the cases of the folder `cases`. */
export async function readCases(): Promise<Record<(typeof names)[number], FileCase[]>> {
  const all = names.map(async (name) => [name, await yamlIn(`cases/${name}.yaml`)])
  return Object.fromEntries(await Promise.all(all))
}

interface Endless {
  name: string
  source?: Source
  start: string
  part: string
  error: string
  megabytes: number
}
export const readEndless = () => yamlIn('cases/endless.yaml') as Promise<Endless[]>
export const readParameters = () =>
  yamlIn('cases/parameters.yaml') as Promise<{ parts: Record<string, unknown>; error: string }[]>

const quoted = (text: string) => `"${text.replaceAll('"', '""')}"`

export function fileOf({ file = '', form, header, tasks = [] }: FileCase): string {
  const text = typeof file === 'string' ? file : JSON.stringify(file)
  if (header === undefined) return form ? text.normalize(form) : text
  const cells = tasks.flatMap((task) => task.cells ?? [])
  return [`Title,${quoted(header)}`, ...cells.map((cell, n) => `${n + 1},${quoted(cell)}`), ''].join('\n')
}

export const caseName = ({ name, source = 'csv', header, file }: FileCase): string =>
  name ?? (header ? `the column ${header}` : `${JSON.stringify(file)} as ${source}`)
