import { ImportError } from '../../items.ts'
import type { Reader } from '../reader.ts'
import { isImported, itemOf } from './items.ts'
import { jsonLines, type Line } from './lines.ts'
import { TaskOrder } from './order.ts'
import { DigestKeys } from '../../convert/keys.ts'
import { isBlank } from '../../convert/texts.ts'
import { Addresses, partOf } from './addresses.ts'

/** The version of the format that this reader supports: the number in the first line. */
const format = 1

/**
 * Reads an export with `format=docket`. The first of two passes checks that the file is complete, before anything is
 * imported.
 */
export const readDocket: Reader = async function* ({ open, report }) {
  const moved = await checkFile(jsonLines(open()), report)
  const [addresses, keys] = [new Addresses(), new DigestKeys()]
  let [n, after] = [0, '']
  for await (const line of jsonLines(open())) {
    addresses.add(line.value)
    const description = descriptionIn(line)
    if (description) yield { kind: 'project', row: 0, description }
    const item = itemOf(line)
    if (!item) continue
    const known = addresses.withAddress(item, line.value)
    if (known.kind === 'subtask' || known.kind === 'comment') known.csvKey = keys.ofChild(known)
    if (known.kind !== 'task') {
      yield known
      continue
    }
    yield moved ? { ...known, number: Number(line.value.number), ...(moved[n++] && { after }) } : known
    after = known.key
  }
}

/** Returns which tasks were moved, see `TaskOrder`. Reports the lines that are not imported. @throws ImportError */
async function checkFile(
  lines: AsyncIterable<Line>,
  report: (message: string) => void,
): Promise<boolean[] | undefined> {
  const [skipped, order] = [new Map<string, number>(), new TaskOrder()]
  let last: Line | undefined
  for await (const line of lines) {
    const { number, value } = line
    if (number === 1) checkFirstLine(value)
    else if (last?.value.kind === 'end')
      throw new ImportError('The file continues after its end', `line ${number}`)
    else if (value.kind !== 'end' && !isImported(value.kind)) countKind(skipped, String(value.kind))
    if (value.kind === 'task') order.add(value.number)
    last = line
  }
  if (!last) throw new ImportError('The file is empty')
  if (last.value.kind !== 'end' || last.value.lines !== last.number)
    throw new ImportError('The file was cut: its last line is missing', `line ${last.number}`)
  const counts = [...skipped].map(([kind, count]) => `${kind} (${count})`)
  if (counts.length > 0) report(`Lines of these kinds are not imported: ${counts.join(', ')}`)
  return order.moved()
}

function descriptionIn({ number, value }: Line): string | undefined {
  const description = number === 1 ? partOf(value.project, 'description') : undefined
  return typeof description === 'string' && !isBlank(description) ? description : undefined
}

/** The most unknown kinds of lines that the report names. */
const maxKinds = 20

function countKind(counts: Map<string, number>, kind: string): void {
  const known = kind.slice(0, 40)
  const name = counts.has(known) || counts.size < maxKinds ? known : 'others'
  counts.set(name, (counts.get(name) ?? 0) + 1)
}

function checkFirstLine({ docket }: Line['value']): void {
  if (docket === undefined)
    throw new ImportError('The file is not an export of Docket with format=docket', 'line 1')
  if (docket !== format)
    throw new ImportError(
      `The file has the version ${String(docket).slice(0, 20)} of the format; this service reads version ${format}`,
      'line 1',
    )
}
