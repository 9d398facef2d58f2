import type { Docket, Import, ImportReportLine } from '../../../typescript/src/index.ts'
import type { Cli } from '../cli.ts'
import { Failure } from '../failure.ts'
import { collect } from '../service/connect.ts'
import type { Output } from '../terminal/output.ts'
import { jsonText, printable } from '../terminal/text.ts'

const pageLimit = 200
export const shownLines = 50

export interface Shown {
  json: boolean | undefined
  /** The maximum number of rows. */
  limit: number
  /** True if the command has waited for the end: a failed or cancelled import is then an error. */
  isAwaited?: boolean
}

/**
 * Prints the report and the counts of an import. For a dry run, standard output has only the mapping.
 * @throws Failure if the command has waited for an import or undo that failed, or for an import that was cancelled
 */
export async function printImport(
  cli: Cli,
  docket: Docket,
  shown: Import,
  { json, limit, isAwaited }: Shown,
) {
  const pages = docket.imports.report(shown.id, { limit: Math.min(limit + 1, pageLimit) })
  const lines: ImportReportLine[] = await collect(cli, pages, 'lines', limit + 1)
  const report = lines.slice(0, limit)
  if (json) await cli.out.json({ ...shown, report })
  else await printReport(shown.dryRun ? cli.err : cli.out, report)
  if (lines.length > limit)
    await cli.err.line(`The report has more lines: docket imports ${shown.id} --limit ${limit * 10}`)
  if (isAwaited && isUnsuccessful(shown)) throw new Failure(summaryOf(shown))
  if (json) return
  await cli.err.line(summaryOf(shown))
  if (shown.dryRun && shown.state === 'done') await cli.out.line(jsonText(shown.mapping, 2))
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
  if (undo) return `Undo of import ${id} ${undo.state}: ${undo.undone} tasks undone, ${undo.kept} tasks kept`
  if (state === 'failed')
    return `Import ${id} failed: ${printable(error ?? '')}${read > 0 ? `. Before: ${total}` : ''}`
  const nothing = dryRun && state === 'done' ? '; nothing has changed' : ''
  return `${dryRun ? 'Dry run' : 'Import'} ${id} ${state}: ${total}${nothing}`
}
