import { ImportError, type ImportedItem } from '../../items.ts'
import type { Reader } from '../reader.ts'
import { itemOf } from './items.ts'
import { jsonLines, type Line } from './lines.ts'

/** The number in the first line of the files that this reader can read. */
const format = 1

/**
 * Reads the file that an export with `format=docket` returns. The first of two passes finds out whether the file is
 * complete, before anything is imported.
 */
export const readDocket: Reader = async function* ({ open }) {
  let messages = await checkFile(jsonLines(open()))
  for await (const line of jsonLines(open())) {
    const item = itemOf(line)
    if (!item) continue
    yield withMessages(item, messages)
    if (canReport(item)) messages = []
  }
}

const canReport = ({ kind }: ImportedItem): boolean => kind !== 'label' && kind !== 'field'

function withMessages(item: ImportedItem, messages: string[]): ImportedItem {
  if (messages.length === 0 || item.kind === 'label' || item.kind === 'field') return item
  return { ...item, messages: [...messages, ...(item.messages ?? [])] }
}

/** Returns messages about the lines that are not imported. @throws ImportError */
async function checkFile(lines: AsyncIterable<Line>): Promise<string[]> {
  const skipped = new Map<string, number>()
  let last: Line | undefined
  for await (const line of lines) {
    const { number, value } = line
    if (number === 1) checkFirstLine(value)
    else if (last?.value.kind === 'end')
      throw new ImportError('The file continues after its end', `line ${number}`)
    else if (value.kind !== 'end' && !isImported(value.kind)) countKind(skipped, String(value.kind))
    last = line
  }
  if (!last) throw new ImportError('The file is empty')
  if (last.value.kind !== 'end' || last.value.lines !== last.number)
    throw new ImportError('The file was cut: its last line is missing', `line ${last.number}`)
  if (skipped.size === 0) return []
  const counts = [...skipped].map(([kind, count]) => `${kind} (${count})`)
  return [`Lines of these kinds are not imported: ${counts.join(', ')}`]
}

/** The most other kinds of lines that are named. */
const maxKinds = 20

function countKind(counts: Map<string, number>, kind: string): void {
  const known = kind.slice(0, 40)
  const name = counts.has(known) || counts.size < maxKinds ? known : 'others'
  counts.set(name, (counts.get(name) ?? 0) + 1)
}

const kinds = ['label', 'field', 'task', 'subtask', 'comment']
const isImported = (kind: unknown): boolean => kinds.includes(kind as string)

function checkFirstLine({ docket }: Line['value']): void {
  if (docket === undefined)
    throw new ImportError('The file is not an export of Docket with format=docket', 'line 1')
  if (docket !== format)
    throw new ImportError(
      `The file has the version ${String(docket).slice(0, 20)} of the format; this service reads version ${format}`,
      'line 1',
    )
}
