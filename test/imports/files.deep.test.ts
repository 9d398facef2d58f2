import { parse } from 'csv-parse/sync'
import { type Source, sources } from '../../modules/imports/sources.ts'
import { samples, textOf } from './files.ts'
import { openImporting } from './scene.ts'

const { importFile } = await openImporting()

const quoted = (cell: string) => `"${cell.replaceAll('"', '""')}"`

/** Returns the header and the first row of a file, with the text in all cells but those that decide how a row is read. */
function csvWith(file: string, text: string): string {
  const rows = parse(file, { bom: true, relax_column_count: true, skip_empty_lines: true })
  const start = rows.findIndex((row) => row.length > 3)
  const [header, row] = [rows[start]!, rows.slice(start + 1).find(([type]) => !/^(meta|note)$/.test(type!))!]
  // A row may have a million characters.
  const cell = text.slice(0, 400_000 / header.length)
  const cells = header.map((_, n) => (/^(task|[YN]|true|false|TEXT)$/.test(row[n] ?? '') ? row[n]! : cell))
  return [header, cells].map((line) => `${line.map(quoted).join()}\n`).join('')
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

const docketFile = docketLines.map((line) => `${JSON.stringify(line)}\n`).join('')
const csvFile = `Title,Description,Status,List,Priority,Due,Assignee,Author,Labels,Parent,Blocked by,Comments,Subtasks,ID,Done\na\n`

/** Returns files of the source with the text in all values. @param n selects the keys of JSON that keep their values */
async function filesWith(source: Source, text: string, n: number): Promise<string[]> {
  const own = await Promise.all(
    samples.filter((one) => one.source === source).map(({ file }) => textOf(file)),
  )
  const files = source === 'docket' ? [docketFile] : source === 'csv' ? [csvFile] : own
  const [json] = files.filter((file) => /^[[{]/.test(file))
  const [csv] = files.filter((file) => !/^[[{]/.test(file))
  return [
    ...(csv ? [csvWith(csv, text)] : []),
    ...(json ? [withText(json, text, fixed[n % fixed.length]!)] : []),
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
    for (const [n, character] of repeated.entries())
      for (const file of await filesWith(source, `x${character.repeat(characters)}x`, n)) {
        const { counts, error } = await importFile(source, file)
        tasks += counts.read
        expect(error ?? '').not.toStartWith('The file cannot be read')
      }
    expect(tasks).toBeGreaterThanOrEqual(repeated.length)
  },
  300_000,
)
