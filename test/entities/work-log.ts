import type { NewEntity } from './edits.ts'

/**
 * A child with an author, a name of two words, a column of each kind, references to another new entity, and a field that
 * lines of files have too.
 */
export const workLog: NewEntity = {
  files: {
    'drizzle/schema/work-logs.ts': `import { boolean, doublePrecision, index, jsonb, pgTable, text, uuid } from 'drizzle-orm/pg-core'
import { eventId, instant } from '../columns.ts'
export const workLogs = pgTable('work_logs', {
  id: uuid('id').primaryKey(),
  taskId: uuid('task_id').notNull(),
  remark: text('remark').notNull(),
  hours: doublePrecision('hours').notNull(),
  billable: boolean('billable').notNull().default(true),
  startedAt: instant('started_at'),
  kind: text('kind').$type<'ONSITE' | 'REMOTE'>().notNull(),
  workerId: uuid('worker_id'),
  details: jsonb('details').$type<Record<string, unknown>>(),
  tagIds: jsonb('tag_ids').$type<string[]>().notNull().default([]),
  mainTagId: uuid('main_tag_id'),
  importedAuthor: text('imported_author'),
  authorId: uuid('author_id').notNull(),
  createdAt: instant('created_at').notNull(),
  updatedAt: instant('updated_at').notNull(),
  eventId,
}, (t) => [index('work_logs_task').on(t.taskId, t.id, t.createdAt)])
`,
    'modules/work-logs/schema.ts': `import { Type } from '@sinclair/typebox'
import { field, inputsOf, outputsOf } from '../../src/model/fields.ts'
import { ifSet, view } from '../../src/model/view.ts'
import { Id, named, OrNull, Timestamp } from '../../src/schema/response.ts'
import { IdOf, Input, OwnId } from '../../src/schema/input.ts'
import { Instant, Nullable, OneOf, Text } from '../../src/schema/text.ts'
import { userView } from '../accounts/user.ts'
const Remark = Text(1, 2000, 'Oiled the wheels')
const Mode = OneOf('WorkMode', ['ONSITE', 'REMOTE'] as const)
const Details = Type.Union([Type.Record(Type.String(), Type.Unknown()), Type.Null()], {
  description: 'A JSON object, or null', examples: [{ pages: [1, 2] }],
})
export const fields = {
  details: field.of(Details, Details, null),
  tagIds: field.ids('tag', 'drop'),
  mainTagId: field.id('tag', 'drop'),
}
const columns = {
  hours: Type.Number({ minimum: 0, maximum: 24, description: 'A number of hours' }),
  billable: Type.Optional(Type.Boolean({ description: 'True or false' })),
  startedAt: Type.Optional(Nullable(Instant())),
  kind: Mode,
  workerId: Type.Optional(Nullable(IdOf('user'))),
}
export const CreateWorkLog = Input({ id: OwnId(), taskId: IdOf('task'), remark: Remark, ...columns, ...inputsOf(fields) })
export const UpdateWorkLog = Input({
  id: IdOf('work_log'), ...Type.Partial(Type.Object({ remark: Remark, ...columns })).properties, ...inputsOf(fields),
})
export const workLogView = view<object & { authorId: string; hours: number }>({
  name: 'WorkLog',
  schema: Type.Object({
    id: Id('The log'), taskId: Id('The task'), remark: Type.String({ description: 'A remark', examples: ['Oiled'] }),
    hours: Type.Number({ description: 'Hours', examples: [2.5] }), billable: Type.Boolean({ description: 'Billable', examples: [true] }),
    startedAt: OrNull(Timestamp('Start'), 'Start, or null'), kind: Mode,
    workerId: OrNull(Id('The worker'), 'The worker, or null'),
    ...outputsOf(fields),
    authorId: Id('The author'),
    author: Type.Union([named('LogAuthor', Type.Pick(userView.schema, ['id', 'name'])), Type.Null()], { description: 'The author' }),
    authorRemoved: Type.Boolean({ description: 'Whether the account is deleted', examples: [false] }),
    createdAt: Timestamp('Creation'), updatedAt: Timestamp('Change'),
    importedAuthor: OrNull(Type.String(), 'A name, or null', 'Grace'),
    isLong: Type.Boolean({ description: 'Whether it took more than a day', examples: [false] }),
  }),
  computed: {
    author: ({ authorId }, person) => (person ? { id: authorId, name: person.name } : null),
    authorRemoved: (_, person) => !person,
    isLong: ({ hours }) => hours > 8,
    importedAuthor: ifSet('importedAuthor' as never, null),
  },
})
`,
    'modules/work-logs/entity.ts': `import { workLogs } from '../../drizzle/schema/work-logs.ts'
import { childInput, entity, standardEvents } from '../../src/model/definition.ts'
import { referencesIn } from '../../src/model/fields.ts'
import { CreateWorkLog, fields, UpdateWorkLog, workLogView } from './schema.ts'
declare module '../../src/model/entities.ts' {
  interface Entities { work_log: { row: typeof workLogs.$inferSelect; event: 'created' | 'updated' | 'deleted' } }
}
export const workLog = entity<'work_log'>({
  name: 'work_log', about: 'Work.', table: workLogs, parent: 'task', load: 'by row', view: workLogView,
  optionalColumns: ['importedAuthor'],
  asChild: { text: 'remark', input: childInput(CreateWorkLog, UpdateWorkLog) },
  references: referencesIn(fields),
  person: 'authorId', events: standardEvents,
})
`,
    'modules/work-logs/commands.ts': `import { ofTask } from '../../src/commands/command.ts'
import { creation, deletion, update } from '../../src/commands/row-commands.ts'
import { defaultsOf } from '../../src/model/fields.ts'
import { workLog } from './entity.ts'
import { CreateWorkLog, fields, UpdateWorkLog } from './schema.ts'
const author = (_: object, { userId }: { userId: string }) => ({ by: 'id' as const, key: userId })
export const createWorkLog = creation(workLog, {
  input: CreateWorkLog, target: ofTask('taskId'), role: 'EDITOR', path: '/tasks/work_logs', person: author,
  fields: ({ id: _, remark, billable, startedAt, workerId, ...input }, { caller, now }) => ({
    ...defaultsOf(fields), ...input, remark: remark.trim(), billable: billable ?? true, startedAt: startedAt ?? null,
    workerId: workerId ?? null, authorId: caller.userId, createdAt: now, updatedAt: now, importedAuthor: null }),
})
export const updateWorkLog = update(workLog, { input: UpdateWorkLog, role: 'EDITOR', person: author, fields: ({ id: _, ...input }) => input })
export const deleteWorkLog = deletion(workLog, { role: 'EDITOR' })
`,
    'modules/work-logs/routes.ts': `import type { Module } from '../../src/module.ts'
import { childList } from '../children/list.ts'
import { createWorkLog, deleteWorkLog, updateWorkLog } from './commands.ts'
import { workLog } from './entity.ts'
export const workLogModule = {
  entity: workLog,
  writes: [
    ['post', '/tasks/:id/work_logs', createWorkLog, 'Create a log'],
    ['patch', '/tasks/work_logs/:id', updateWorkLog, 'Change a log'],
    ['delete', '/tasks/work_logs/:id', deleteWorkLog, 'Delete a log'],
  ],
  reads: (services, seeTask) => [['/tasks/:id/work_logs', childList(services, workLog, seeTask), 'List logs']],
} satisfies Module
`,
  },
  edits: [
    {
      path: 'modules/modules.ts',
      find: "import { members } from './members/routes.ts'",
      put: "import { members } from './members/routes.ts'\nimport { workLogModule } from './work-logs/routes.ts'",
    },
    { path: 'modules/modules.ts', find: 'subtasks, comments,', put: 'subtasks, comments, workLogModule,' },
  ],
}
