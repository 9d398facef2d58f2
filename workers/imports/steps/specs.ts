import { Notes } from '../../../modules/imports/convert/notes.ts'
import { suffices } from '../../../src/identity/rights.ts'
import { runBatches } from '../batches/batches.ts'
import type { PreparedRow } from '../batches/prepared-row.ts'
import { storeItems } from '../batches/outcomes.ts'
import { endStep } from '../run/progress.ts'
import { operationOf, readFields, readSpecs, type StagedSpec } from './project-data.ts'
import type { Run } from '../run/run.ts'

/** Creates the missing labels, and the missing fields and description if the caller may do so. */
export async function importSpecs(run: Run): Promise<void> {
  const { sql, running, services } = run
  const specs = await readSpecs(sql, running.id)
  const fields = new Map((await readFields(sql, running.projectId)).map((one) => [one.key, one]))
  const { role = 'VIEWER' } = (await services.findRole(running.caller, running.projectId)) ?? {}
  const isAdmin = suffices(role, 'ADMIN') && (running.caller.token?.scope ?? 'admin') === 'admin'
  await runBatches(run, {
    step: 'labels',
    last: specs.at(-1)?.n ?? 0,
    prepare: async (after) =>
      specs
        .filter(({ n }) => n > after)
        .slice(0, run.batchRows)
        .map((spec) => ({ ...common(spec), ...prepareSpec(spec) })),
    store: (tx, finished) => storeItems(tx, running.id, finished),
  })
  await endStep(run, 'labels')

  function prepareSpec(spec: StagedSpec): Pick<PreparedRow, 'operation' | 'outcome' | 'notes'> {
    const { kind, key, item } = spec
    const notes = new Notes()
    if (kind === 'label' || (kind === 'project' && isAdmin)) return { operation: operationOf(spec), notes }
    if (kind === 'project') {
      notes.report('Only an ADMIN can give the project the description in the file')
      return { outcome: 'rejected', notes }
    }
    const existing = fields.get(key)
    if (existing && existing.type !== item.type && item.type !== 'text')
      notes.report(
        `The field "${existing.name}" of the project has the type ${existing.type}, and not ${item.type}`,
      )
    if (existing && (existing.type !== item.type || item.type !== 'choice'))
      return { outcome: 'unchanged', notes }
    if (isAdmin) return { operation: operationOf(spec), notes }
    if (existing) return { outcome: 'unchanged', notes }
    notes.report(`The field "${item.name}" was not created: this needs the role ADMIN`)
    return { outcome: 'rejected', notes }
  }
}

const common = ({ n, kind, id, item }: StagedSpec) => ({
  ...{ n, kind, id, row: null, externalId: null },
  subject: kind === 'project' ? 'The description of the project' : `The ${kind} "${item.name}"`,
})
