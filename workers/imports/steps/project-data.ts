import type { FieldRow } from '../../../drizzle/rows.ts'
import type { FieldSpec } from '../../../modules/imports/convert/fields.ts'
import type { LabelSpec } from '../../../modules/imports/convert/names-in-file.ts'
import { People, type ProjectPerson } from '../../../modules/imports/convert/people.ts'
import type { ConvertContext } from '../../../modules/imports/convert/task.ts'
import type {
  FieldOperation,
  ImportOperation,
  LabelOperation,
  ProjectOperation,
} from '../../../modules/imports/command/operations.ts'
import { nowMs } from '../../../src/ids.ts'
import type { Sql } from '../../../src/postgres/database.ts'
import type { Outcome } from '../batches/prepared-row.ts'
import type { Run } from '../run/run.ts'

/** Longer than the time from the conversion of a task to its commit. */
const reminderMs = 10_000

/** The owner and the members of a project. */
export const readPeople = (sql: Sql, projectId: string) => sql<ProjectPerson[]>`
  select u.id, u.name, u.email from users u where u.id in (
    select owner_id from projects where id = ${projectId}
    union all select user_id from members where project_id = ${projectId})`

export const readFields = (sql: Sql, projectId: string) =>
  sql<FieldRow[]>`select key, name, type, options from task_fields where project_id = ${projectId}`

/** Returns the fields that the file has columns for, or undefined for all fields. */
export async function readColumns(sql: Sql, importId: string): Promise<string[] | undefined> {
  const [row] = await sql<{ item: string[] }[]>`
    select item from import_items where import_id = ${importId} and kind = 'columns'`
  return row?.item
}

/** A label or field of the file, or the description of its project. */
export interface StagedSpec {
  kind: 'project' | 'label' | 'field'
  n: number
  key: string
  id: string
  item: LabelSpec & FieldSpec
  outcome: Outcome
}

export const readSpecs = (sql: Sql, importId: string) => sql<StagedSpec[]>`
  select kind, n, key, id, item, coalesce(outcome, 'created') as outcome from import_items
  where import_id = ${importId} and kind in ('project', 'label', 'field') order by n`

export const operationOf = ({ kind, id, item }: Pick<StagedSpec, 'kind' | 'id' | 'item'>) =>
  ({ ...item, op: kind, id }) as ProjectOperation | LabelOperation | FieldOperation

export interface StepContext extends ConvertContext {
  /** In a dry run, the operations that were not committed: labels by id, fields by key. */
  uncommitted: ReadonlyMap<string, ImportOperation>
}

/** Reads the data of the project that the conversion of rows needs. */
export async function readContext({ sql, running }: Run): Promise<StepContext> {
  const { id, projectId, source, mapping, caller, dryRun } = running
  const [people, fields, specs] = await Promise.all([
    readPeople(sql, projectId),
    readFields(sql, projectId),
    readSpecs(sql, id),
  ])
  const known = new Map<string, FieldSpec>(
    fields.map(({ options, ...field }) => [field.key, { ...field, options: options ?? undefined }]),
  )
  const labels = new Map<string, string>()
  const uncommitted = new Map<string, ImportOperation>()
  for (const spec of specs) {
    const { kind, key, outcome, item } = spec
    if (outcome === 'rejected') continue
    if (kind === 'label') labels.set(key, spec.id)
    const isChanged = outcome !== 'unchanged'
    if (kind === 'field' && isChanged) known.set(key, withOptions(item, known.get(key)))
    if (dryRun && isChanged) uncommitted.set(kind === 'label' ? spec.id : key, operationOf(spec))
  }
  const firstReminder = new Date(nowMs() + reminderMs).toISOString()
  return {
    source,
    mapping,
    people: new People(people, mapping),
    userId: caller.userId,
    labels,
    fields: known,
    firstReminder,
    uncommitted,
  }
}

/** An import adds options to an existing field. */
const withOptions = (field: FieldSpec, existing: FieldSpec = field): FieldSpec => ({
  ...existing,
  ...(field.options && { options: [...new Set([...(existing.options ?? []), ...field.options])] }),
})
