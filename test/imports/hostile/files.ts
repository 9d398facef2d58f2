import type { Source } from '../../../modules/imports/sources.ts'
import { jsonSamples, textOf } from '../readers/samples.ts'

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

/** Returns files of the source with the text in all values. */
export async function filesWith(source: Source, text: string): Promise<string[]> {
  const header = columns[source]
  const own = jsonSamples
    .filter((sample) => sample.source === source)
    .slice(0, 1)
    .map(({ file }) => textOf(file))
  const json = (source === 'docket' ? [docketFile] : await Promise.all(own)).flatMap((file) => [
    withText(file, text, fixed),
    withText(file, text, structural),
  ])
  return [...(header ? [csvWith(header, text)] : []), ...json]
}

function csvWith(header: string, text: string): string {
  const names = header.split(',')
  const cells = names.map((name) => /\[(.*)\]/.exec(name)?.[1] ?? text)
  const quoted = cells.map((cell) => `"${cell.replaceAll('"', '""')}"`)
  return `${names.map((name) => name.replace(/\[.*/, '')).join()}\n${quoted.join()}\n`
}

/** The keys that decide how a value is read, and the ids. */
const fixed = /^(kind|type|resource_\w+|status|priority|externalId|key|\w*ids?|_id|\w*Ids?)$/
const structural = /^(kind|type|resource_\w+|status|priority)$/

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

const lines = [
  { docket: 1, project: { id: 'p', name: 'Engine', description: 'All wheels' } },
  { kind: 'label', name: 'bug', color: '#d73a4a', createdAt: '2027-01-31' },
  { kind: 'field', key: 'size', name: 'Size', type: 'text' },
  {
    ...{ kind: 'task', id: 't', title: 'Draw', description: 'In ink', dueDate: '2027-01-31' },
    ...{ assignee: { name: 'Ada', email: 'ada@example.com' }, externalId: 'JIRA-7', remindAt: '2027-01-31' },
  },
  { kind: 'task', id: 't2', title: 'Oil', labels: ['bug'], fields: { size: 'large' } },
  { kind: 'subtask', id: 's', taskId: 't', title: 'Sharpen', completed: true },
  { kind: 'comment', id: 'c', taskId: 't', text: 'In ink', importedAuthor: 'Charles' },
  { kind: 'end', lines: 8 },
]
const docketFile = lines.map((line) => `${JSON.stringify(line)}\n`).join('')
