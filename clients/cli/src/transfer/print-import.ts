import type { Docket, Import, ImportReportLine } from '../../../typescript/src/index.ts'
import type { Cli } from '../cli.ts'
import { Failure } from '../failure.ts'
import { collect } from '../service/connect.ts'
import type { Output } from '../terminal/output.ts'
import { jsonText } from '../terminal/text.ts'

const pageLimit = 200
export const shownLines = 50

export interface Shown {
  json: boolean | undefined
  /** The most rows. */
  limit: number
}

/**
 * Prints the report and the counts of an import. Prints the mapping of a dry run to standard output, so that a file can store it.
 * @throws Failure if the import or its undo has failed, or the import was cancelled
 */
export async function printImport(cli: Cli, docket: Docket, ended: Import, { json, limit }: Shown) {
  const pages = docket.imports.report(ended.id, { limit: Math.min(limit + 1, pageLimit) })
  const lines: ImportReportLine[] = await collect(cli, pages, 'lines', limit + 1)
  const report = lines.slice(0, limit)
  if (json) await cli.out.json({ ...ended, report })
  else await printReport(ended.dryRun ? cli.err : cli.out, report)
  if (lines.length > limit)
    await cli.err.line(`The report has more lines: docket imports ${ended.id} --limit ${limit * 10}`)
  if (isUnsuccessful(ended)) throw new Failure(summaryOf(ended))
  if (json) return
  await cli.err.line(summaryOf(ended))
  if (ended.dryRun && ended.state === 'done') await cli.out.line(jsonText(ended.mapping, 2))
}

const printReport = (out: Output, report: ImportReportLine[]) =>
  out.table(report, [
    { title: 'ROW', value: ({ row }) => row },
    { title: 'OUTCOME', value: ({ outcome }) => outcome },
    { title: 'EXTERNAL ID', value: ({ externalId }) => externalId, isFlexible: true },
    { title: 'MESSAGE', value: ({ message }) => message, isFlexible: true },
  ])

const isUnsuccessful = ({ state, undo }: Import) =>
  undo ? undo.state === 'failed' : state === 'failed' || state === 'cancelled'

function summaryOf({ id, state, dryRun, counts, error, undo }: Import): string {
  const { read, ...others } = counts
  const outcomes = Object.entries(others).map(([outcome, count]) => `${count} ${outcome}`)
  const total = `${outcomes.join(', ')} (${read} tasks read)`
  if (undo?.state === 'failed') return `The undo of import ${id} has failed: repeat it with --undo`
  if (undo) return `Undo of import ${id} ${undo.state}: ${undo.undone} changes undone, ${undo.kept} rows kept`
  if (state === 'failed') return `Import ${id} failed: ${error}${read > 0 ? `. Before: ${total}` : ''}`
  const nothing = dryRun && state === 'done' ? '; nothing has changed' : ''
  return `${dryRun ? 'Dry run' : 'Import'} ${id} ${state}: ${total}${nothing}`
}
