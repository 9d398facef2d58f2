import { importRows, type ImportedRows } from '../../../modules/imports/command/import-rows.ts'
import type { ImportOperation, TaskOperation } from '../../../modules/imports/command/operations.ts'
import type { Caller } from '../../../src/identity/rights.ts'
import { newId, type TestService } from '../../kit.ts'

interface Batch {
  dryRun?: boolean
  operations: ImportOperation[]
}

/** Runs the command as a worker does. @param key an import and a batch of it, which is then committed once */
export const openImport =
  ({ services }: Pick<TestService, 'services'>, projectId: string, caller: Caller) =>
  async (operations: ImportOperation[], others: Omit<Batch, 'operations'> = {}, key?: string) => {
    const guard = key === undefined ? undefined : { scope: 'imports', key, fingerprint: '' }
    const input = { projectId, operations, ...others }
    const { body } = await services.run({ name: importRows.name, input, caller, guard })
    return JSON.parse(body) as ImportedRows
  }

export const taskOf = (
  externalId: string,
  values: Partial<TaskOperation> = {},
  others: Partial<TaskOperation> = {},
): TaskOperation => ({
  op: 'task',
  id: newId(),
  externalId,
  title: externalId,
  ...others,
  ...values,
})

export const outcomesOf = ({ results }: ImportedRows) => results.map(({ outcome }) => outcome)
