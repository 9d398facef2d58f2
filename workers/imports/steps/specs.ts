import { Notes } from '../../../modules/imports/convert/notes.ts'
import { otherTypeOf } from '../../../modules/imports/command/decide-operation.ts'
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
    prelude: ([first]) =>
      specs.filter(({ n }) => n < first!.n).flatMap((spec) => prepareSpec(spec).operation ?? []),
    store: (tx, finished) => storeItems(tx, running.id, finished),
  })
  await endStep(run, 'labels')

  /** An operation must not depend on the fields of the project: a repeated batch has the results of the same rows. */
  function prepareSpec(spec: StagedSpec): Pick<PreparedRow, 'operation' | 'outcome' | 'notes'> {
    const { kind, key, item } = spec
    const notes = new Notes()
    if (isAdmin || kind === 'label') return { operation: operationOf(spec), notes }
    if (kind === 'project') {
      notes.report('Only an ADMIN can give the project the description in the file')
      return { outcome: 'rejected', notes }
    }
    const existing = fields.get(key)
    const otherType = existing && otherTypeOf(existing, item)
    if (otherType) notes.report(`The field "${item.name}": ${otherType}`)
    if (existing) return { outcome: 'unchanged', notes }
    notes.report(`The field "${item.name}" was not created: this needs the role ADMIN`)
    return { outcome: 'rejected', notes }
  }
}

const common = ({ n, kind, id, item }: StagedSpec) => ({
  ...{ n, kind, id, row: null, externalId: null },
  subject: kind === 'project' ? 'The description of the project' : `The ${kind} "${item.name}"`,
})
