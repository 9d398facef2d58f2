import type { FieldRow } from '../../drizzle/rows.ts'
import type { ImportOperation } from '../../modules/imports/command.ts'
import type { FieldSpec } from '../../modules/imports/convert/fields.ts'
import { type LabelSpec, openPeople, type ProjectPerson } from '../../modules/imports/convert/names.ts'
import { Notes } from '../../modules/imports/convert/notes.ts'
import type { ConvertContext } from '../../modules/imports/convert/record.ts'
import { nowMs } from '../../src/ids.ts'
import type { Sql } from '../../src/postgres/database.ts'
import { type Outcome, runBatches } from './batches.ts'
import type { Run } from './import-row.ts'

/** A label or field of the file, or the description and settings of its project. */
interface StagedName {
  kind: 'project' | 'label' | 'field'
  n: number
  key: string
  id: string
  item: LabelSpec & FieldSpec
  outcome: Outcome
}

const readNames = ({ sql, id }: Run) => sql<StagedName[]>`
  select kind, n, key, id, item, coalesce(outcome, 'created') as outcome from import_items
  where import_id = ${id} and kind in ('project', 'label', 'field') order by n`

/** The owner and the members of a project. */
export const readPeople = (sql: Sql, projectId: string) => sql<ProjectPerson[]>`
  select u.id, u.name, u.email from users u where u.id in (
    select owner_id from projects where id = ${projectId}
    union all select user_id from members where project_id = ${projectId})`

const operationOf = ({ kind, item, id }: StagedName): ImportOperation => ({ ...item, op: kind, id })

/**
 * Creates the missing labels, and the missing fields and description if the caller may do so. One command decides all
 * names, because a dry run commits nothing.
 */
export async function importNames(run: Run): Promise<void> {
  const names = await readNames(run)
  await runBatches(run, {
    step: 'names',
    last: 1,
    read: async (after) => names.filter(({ n }) => n > after),
    prepare: async (page) =>
      page.map((one) => ({
        ...{ n: one.n, kind: one.kind, row: null, externalId: null, notes: new Notes() },
        subject: `The ${one.kind === 'project' ? 'description and settings of the project' : `${one.kind} "${one.item.name}"`}`,
        operation: operationOf(one),
      })),
  })
}

/** Longer than the time from the conversion of a task to its commit. */
const reminderMs = 10_000

/** Reads the data of the project that the conversion of rows needs. */
export async function readContext(run: Run): Promise<ConvertContext> {
  const { sql, projectId, source, mapping, caller } = run
  const [people, fieldRows, names] = await Promise.all([
    readPeople(sql, projectId),
    sql<FieldRow[]>`select key, name, type, options from task_fields where project_id = ${projectId}`,
    readNames(run),
  ])
  const fields = new Map(fieldRows.map((field): [string, FieldSpec] => [field.key, field]))
  const labels = new Map<string, string>()
  const uncommitted = new Map<string, ImportOperation>()
  for (const name of names) {
    const { kind, key, outcome, item, id } = name
    if (outcome === 'rejected') continue
    if (kind === 'label') labels.set(key, id)
    if (outcome === 'unchanged') continue
    if (run.dryRun) uncommitted.set(kind === 'label' ? id : key, operationOf(name))
    if (kind !== 'field') continue
    // The import adds the options of the file to those of the project.
    const field = fields.get(key) ?? item
    fields.set(key, { ...field, options: [...new Set([...(field.options ?? []), ...(item.options ?? [])])] })
  }
  return {
    ...{ source, mapping, labels, fields, uncommitted },
    ...{ people: openPeople(people, mapping), userId: caller.userId },
    firstReminder: new Date(nowMs() + reminderMs).toISOString(),
    now: new Date(nowMs()).toISOString(),
  }
}
