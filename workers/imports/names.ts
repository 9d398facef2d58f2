import type { FieldRow } from '../../drizzle/rows.ts'
import type { ImportOperation } from '../../modules/imports/command.ts'
import type { FieldSpec } from '../../modules/imports/convert/fields.ts'
import { type LabelSpec, People, type ProjectPerson } from '../../modules/imports/convert/names.ts'
import { Notes } from '../../modules/imports/convert/notes.ts'
import type { ConvertContext } from '../../modules/imports/convert/record.ts'
import { nowMs } from '../../src/ids.ts'
import type { Sql } from '../../src/postgres/database.ts'
import { runBatches } from './batches.ts'
import type { Run } from './import-row.ts'
import type { Outcome } from './report.ts'

/** A label or field of the file, or the description and settings of its project. */
interface StagedName {
  kind: 'project' | 'label' | 'field'
  n: number
  key: string
  id: string
  item: LabelSpec & FieldSpec
  outcome: Outcome
}

const readNames = (sql: Sql, importId: string) => sql<StagedName[]>`
  select kind, n, key, id, item, coalesce(outcome, 'created') as outcome from import_items
  where import_id = ${importId} and kind in ('project', 'label', 'field') order by n`

/** The owner and the members of a project. */
export const readPeople = (sql: Sql, projectId: string) => sql<ProjectPerson[]>`
  select u.id, u.name, u.email from users u where u.id in (
    select owner_id from projects where id = ${projectId}
    union all select user_id from members where project_id = ${projectId})`

const operationOf = ({ kind, item, id }: StagedName) => ({ ...item, op: kind, id }) as ImportOperation

/**
 * Creates the missing labels, and the missing fields and description if the caller may do so. One command decides all
 * names, because a dry run commits nothing.
 */
export async function importNames(run: Run): Promise<void> {
  const names = await readNames(run.sql, run.running.id)
  await runBatches(run, {
    step: 'names',
    read: async (after) => names.filter(({ n }) => n > after),
    prepare: async (page) =>
      page.map((one) => ({
        ...{ n: one.n, kind: one.kind, row: null, externalId: null, notes: new Notes() },
        subject:
          one.kind === 'project'
            ? 'The description and settings of the project'
            : `The ${one.kind} "${one.item.name}"`,
        operation: operationOf(one),
      })),
  })
}

export interface LoadContext extends ConvertContext {
  /** In a dry run: the operations of labels by their ids, and of fields by their keys, that are not committed. */
  uncommitted: ReadonlyMap<string, ImportOperation>
}

/** Longer than the time from the conversion of a task to its commit. */
const reminderMs = 10_000

/** Reads the data of the project that the conversion of rows needs. */
export async function readContext({ sql, running }: Run): Promise<LoadContext> {
  const { id, projectId, source, mapping, caller, dryRun } = running
  const [people, fieldRows, names] = await Promise.all([
    readPeople(sql, projectId),
    sql<FieldRow[]>`select key, name, type, options from task_fields where project_id = ${projectId}`,
    readNames(sql, id),
  ])
  const fields = new Map<string, FieldSpec>(
    fieldRows.map(({ options, ...field }) => [field.key, { ...field, ...(options && { options }) }]),
  )
  const labels = new Map<string, string>()
  const uncommitted = new Map<string, ImportOperation>()
  for (const name of names.filter(({ outcome }) => outcome !== 'rejected')) {
    const { kind, key, outcome, item, id: nameId } = name
    if (kind === 'label') labels.set(key, nameId)
    if (outcome === 'unchanged') continue
    if (kind === 'field') {
      // The import adds the options of the file to those of the project.
      const existing = fields.get(key) ?? item
      const options = item.options && [...new Set([...(existing.options ?? []), ...item.options])]
      fields.set(key, { ...existing, ...(options && { options }) })
    }
    if (dryRun) uncommitted.set(kind === 'label' ? nameId : key, operationOf(name))
  }
  return {
    ...{ source, mapping, labels, fields, uncommitted },
    ...{ people: new People(people, mapping), userId: caller.userId },
    firstReminder: new Date(nowMs() + reminderMs).toISOString(),
    now: new Date(nowMs()).toISOString(),
  }
}
