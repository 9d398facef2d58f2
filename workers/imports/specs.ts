import type { FieldRow } from '../../drizzle/rows.ts'
import { otherTypeOf } from '../../modules/imports/command/decide.ts'
import type {
  FieldOperation,
  LabelOperation,
  ProjectOperation,
} from '../../modules/imports/command/operations.ts'
import type { FieldSpec } from '../../modules/imports/convert/fields.ts'
import type { LabelSpec } from '../../modules/imports/convert/names.ts'
import { Notes } from '../../modules/imports/convert/notes.ts'
import { People, type ProjectPerson } from '../../modules/imports/convert/people.ts'
import type { ConvertContext } from '../../modules/imports/convert/record.ts'
import { suffices } from '../../src/identity/rights.ts'
import { nowMs } from '../../src/ids.ts'
import type { Sql } from '../../src/postgres/database.ts'
import { runBatches } from './batches.ts'
import { endStep, type Run } from './import-row.ts'
import { type Outcome, type PreparedRow, storeItems } from './report.ts'

/** A label or field of the file, or the description of its project. */
interface StagedSpec {
  kind: 'project' | 'label' | 'field'
  n: number
  key: string
  id: string
  item: LabelSpec & FieldSpec
  outcome: Outcome
}

const readSpecs = (sql: Sql, importId: string) => sql<StagedSpec[]>`
  select kind, n, key, id, item, coalesce(outcome, 'created') as outcome from import_items
  where import_id = ${importId} and kind in ('project', 'label', 'field') order by n`

const readFields = (sql: Sql, projectId: string) =>
  sql<FieldRow[]>`select key, name, type, options from task_fields where project_id = ${projectId}`

/** The owner and the members of a project. */
export const readPeople = (sql: Sql, projectId: string) => sql<ProjectPerson[]>`
  select u.id, u.name, u.email from users u where u.id in (
    select owner_id from projects where id = ${projectId}
    union all select user_id from members where project_id = ${projectId})`

/** Creates the missing labels, and the missing fields and description if the caller may do so. */
export async function importSpecs(run: Run): Promise<void> {
  const { sql, running, services } = run
  const specs = await readSpecs(sql, running.id)
  const fields = new Map((await readFields(sql, running.projectId)).map((one) => [one.key, one]))
  const { role = 'VIEWER' } = (await services.findRole(running.caller, running.projectId)) ?? {}
  const isAdmin = suffices(role, 'ADMIN') && (running.caller.token?.scope ?? 'admin') === 'admin'
  // A dry run decides all of them together, because it commits none.
  const pageRows = running.dryRun ? specs.length : run.batchRows
  await runBatches(run, {
    step: 'specs',
    last: specs.at(-1)?.n ?? 0,
    prepare: async (after) => {
      const page = specs.filter(({ n }) => n > after.n).slice(0, pageRows)
      if (page.length === 0) return undefined
      const prepared = page.map((spec) => ({ ...common(spec), ...prepareSpec(spec) }))
      return { prepared, end: { n: page.at(-1)!.n } }
    },
    store: (tx, finished) => storeItems(tx, running.id, finished),
  })
  await endStep(run, 'specs')

  /** An operation must not depend on the fields of the project: a repeated batch has the results of the same rows. */
  function prepareSpec(spec: StagedSpec): Pick<PreparedRow, 'operation' | 'outcome' | 'notes'> {
    const { kind, key, item, id } = spec
    const notes = new Notes()
    if (isAdmin || kind === 'label')
      return {
        notes,
        operation: { ...item, op: kind, id } as ProjectOperation | LabelOperation | FieldOperation,
      }
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

export interface StepContext extends ConvertContext {
  /** The fields that the file has columns for; undefined: all fields. */
  columns: string[] | undefined
  /** In a dry run, the ids of labels and the keys of fields that do not exist yet, or not with all options. */
  uncommitted: ReadonlySet<string>
}

/** Longer than the time from the conversion of a task to its commit. */
const reminderMs = 10_000

/** Reads the data of the project that the conversion of rows needs. */
export async function readContext({ sql, running }: Run): Promise<StepContext> {
  const { id, projectId, source, mapping, caller, dryRun } = running
  const [people, fields, specs, columns] = await Promise.all([
    readPeople(sql, projectId),
    readFields(sql, projectId),
    readSpecs(sql, id),
    sql<{ item: string[] }[]>`select item from import_items where import_id = ${id} and kind = 'columns'`,
  ])
  const known = new Map<string, FieldSpec>(
    fields.map(({ options, ...field }) => [field.key, { ...field, options: options ?? undefined }]),
  )
  const labels = new Map<string, string>()
  const uncommitted = new Set<string>()
  for (const { kind, key, outcome, item, id: specId } of specs) {
    if (outcome === 'rejected') continue
    if (kind === 'label') labels.set(key, specId)
    if (outcome === 'unchanged') continue
    if (kind === 'field') known.set(key, withOptions(item, known.get(key)))
    if (dryRun) uncommitted.add(kind === 'label' ? specId : key)
  }
  return {
    ...{ source, mapping, labels, fields: known, uncommitted },
    ...{ people: new People(people, mapping), userId: caller.userId, columns: columns[0]?.item },
    firstReminder: new Date(nowMs() + reminderMs).toISOString(),
    now: new Date(nowMs()).toISOString(),
  }
}

/** An import adds options to an existing field. */
const withOptions = (field: FieldSpec, existing: FieldSpec = field): FieldSpec => ({
  ...existing,
  ...(field.options && { options: [...new Set([...(existing.options ?? []), ...field.options])] }),
})
