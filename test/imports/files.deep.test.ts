import { type Source, sources } from '../../modules/imports/sources.ts'
import { samples, textOf } from './files.ts'
import { openImporting } from './scene.ts'

const { importFile } = await openImporting()

/** The columns of each CSV file. Values in brackets are fixed, so that the reader reads the row. */
const columns: Partial<Record<Source, string>> = {
  csv: 'Title,Description,Status,List,Priority,Due,Assignee,Author,Labels,Parent,Blocked by,Comments,Subtasks,ID,Done,Note',
  jira: 'Summary,Issue key,Issue id,Issue Type,Status,Status Category,Priority,Assignee,Created,Labels,Outward issue link (Blocks),Inward issue link (Blocks),Comment,Parent',
  linear:
    'ID,Title,Description,Status,Priority,Creator,Assignee,Labels,Created,Completed,Parent issue,Blocked by,Estimate',
  todoist:
    'TYPE[task],CONTENT,DESCRIPTION,PRIORITY,INDENT,AUTHOR,RESPONSIBLE,DATE,TIMEZONE,DURATION,DEADLINE',
  ticktick:
    'Folder Name,List Name,Title,Tags,Content,Is Check list[Y],Due Date,Priority,Status,Column Name,Timezone,Is All Day[true],taskId,parentId',
  asana:
    'Task ID,Created At,Completed At,Name,Section/Column,Assignee,Assignee Email,Tags,Notes,Parent task,Blocked By (Dependencies),Cost',
}

function csvWith(header: string, text: string): string {
  const names = header.split(',')
  const cells = names.map((name) => /\[(.*)\]/.exec(name)?.[1] ?? text)
  const quoted = cells.map((cell) => `"${cell.replaceAll('"', '""')}"`)
  return `${names.map((name) => name.replace(/\[.*/, '')).join()}\n${quoted.join()}\n`
}

/** The keys that decide how a value is read, and in the first pattern also the ids. */
const fixed = [
  /^(kind|type|resource_\w+|status|priority|externalId|key|\w*ids?|_id|\w*Ids?)$/,
  /^(kind|type|resource_\w+|status|priority)$/,
]

/** Replaces the first value of each key, unless the key matches `kept`. */
function withText(file: string, text: string, kept: RegExp): string {
  const found = new Set<string>()
  const quoted = JSON.stringify(text)
  return file.replace(/"(\w+)"(\s*:\s*)"(?:[^"\\]|\\.)*"/g, (whole, key: string, colon: string) => {
    if (kept.test(key) || found.has(key)) return whole
    found.add(key)
    return `"${key}"${colon}${quoted}`
  })
}

const ada = { name: 'Ada', email: 'ada@example.com' }
const docketLines = [
  { docket: 1, project: { id: 'p', name: 'Engine', description: 'All wheels' } },
  { kind: 'label', name: 'bug', color: '#d73a4a', createdAt: '2027-01-31' },
  { kind: 'field', key: 'size', name: 'Size', type: 'text' },
  { kind: 'task', id: 't', title: 'Draw', description: 'In ink', dueDate: '2027-01-31', assignee: ada },
  { kind: 'task', id: 't2', title: 'Oil', labels: ['bug'], fields: { size: 'large' }, externalId: 'JIRA-7' },
  { kind: 'subtask', id: 's', taskId: 't', title: 'Sharpen', completed: true },
  { kind: 'comment', id: 'c', taskId: 't', text: 'In ink', importedAuthor: 'Charles' },
  { kind: 'end', lines: 8 },
]

/** Returns files of the source with the text in all values. */
async function filesWith(source: Source, text: string): Promise<string[]> {
  const own = samples.find((sample) => sample.source === source && !sample.file.endsWith('.csv'))
  const docketFile = docketLines.map((line) => `${JSON.stringify(line)}\n`).join('')
  const json = source === 'docket' ? docketFile : own && (await textOf(own.file))
  const header = columns[source]
  return [
    ...(header ? [csvWith(header, text)] : []),
    ...(json ? fixed.map((kept) => withText(json, text, kept)) : []),
  ]
}

/** A file has about 500 KB, in 15 to 40 values. */
const characters = 20_000
const repeated = [' ', '@', '/', '<', '"', ':', ',', '\n', '1', 'a']

// A regular expression that takes quadratic time needs minutes for such values.
test.each(sources)(
  'imports values of %s that consist of one repeated character, or says why not',
  async (source) => {
    let tasks = 0
    for (const character of repeated)
      for (const file of await filesWith(source, `x${character.repeat(characters)}x`)) {
        const { counts, error } = await importFile(source, file)
        tasks += counts.read
        expect(error ?? '').not.toStartWith('The file cannot be read')
      }
    expect(tasks).toBeGreaterThanOrEqual(repeated.length)
  },
  300_000,
)
