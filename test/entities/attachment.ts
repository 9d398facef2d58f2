import type { Edit } from '../architecture/newcomer.ts'

/** A child of a task as its module writes it: with JSON, a list of tags in a JSON column, and one tag. */
export const attachmentFiles: Record<string, string> = {
  'drizzle/schema/attachments.ts': `import { index, integer, jsonb, pgTable, text, uuid } from 'drizzle-orm/pg-core'
import { eventId, instant } from '../columns.ts'

export const attachments = pgTable(
  'attachments',
  {
    id: uuid('id').primaryKey(),
    taskId: uuid('task_id').notNull(),
    name: text('name').notNull(),
    size: integer('size').notNull(),
    details: jsonb('details').$type<Record<string, unknown>>(),
    tagIds: jsonb('tag_ids').$type<string[]>().notNull().default([]),
    mainTagId: uuid('main_tag_id'),
    createdAt: instant('created_at').notNull(),
    updatedAt: instant('updated_at').notNull(),
    eventId,
  },
  (t) => [index('attachments_task').on(t.taskId, t.id, t.createdAt)],
)
`,
  'modules/attachments/schema.ts': `import { type Static, Type } from '@sinclair/typebox'
import { field, inputsOf, outputsOf } from '../../src/model/fields.ts'
import { view } from '../../src/model/view.ts'
import { Id, Timestamp } from '../../src/schema/response.ts'
import { IdOf, Input, OwnId } from '../../src/schema/input.ts'
import { Name } from '../../src/schema/text.ts'

const Details = Type.Union([Type.Record(Type.String(), Type.Unknown()), Type.Null()], {
  description: 'A JSON object, or null',
  examples: [{ pages: [1, 2] }],
})
const Size = Type.Integer({ minimum: 0, description: 'A whole number of bytes', examples: [3] })
export const fields = {
  details: field.of(Details, Details, null),
  tagIds: field.ids('tag', 'drop'),
  mainTagId: field.id('tag', 'drop'),
}
const FileName = Name(200, 'plan.pdf')

export const CreateAttachment = Input({ id: OwnId(), taskId: IdOf('task'), name: FileName, size: Size, ...inputsOf(fields) })
export type Asked = Omit<Static<typeof CreateAttachment>, 'id'>
export const UpdateAttachment = Input({ id: IdOf('attachment'), name: Type.Optional(FileName), ...inputsOf(fields) })

export const attachmentView = view<object>({
  name: 'Attachment',
  schema: Type.Object({
    id: Id('The attachment'),
    taskId: Id('The task it belongs to'),
    name: Type.String({ description: 'The name of the file', examples: ['plan.pdf'] }),
    size: Size,
    ...outputsOf(fields),
    createdAt: Timestamp('When it was created'),
    updatedAt: Timestamp('When it was last changed'),
  }),
})
`,
  'modules/attachments/entity.ts': `import { attachments } from '../../drizzle/schema/attachments.ts'
import { entity, standardEvents } from '../../src/model/definition.ts'
import { referencesIn } from '../../src/model/fields.ts'
import { attachmentView, fields } from './schema.ts'

declare module '../../src/model/entities.ts' {
  interface Entities {
    attachment: { row: typeof attachments.$inferSelect; event: 'created' | 'updated' | 'deleted' }
  }
}

export const attachment = entity<'attachment'>({
  name: 'attachment',
  about: 'Files of a task.',
  table: attachments,
  parent: 'task',
  load: 'by row',
  view: attachmentView,
  references: referencesIn(fields),
  events: standardEvents,
})
`,
  'modules/attachments/commands.ts': `import { ofTask } from '../../src/commands/command.ts'
import { creation, deletion, update } from '../../src/commands/row-commands.ts'
import { defaultsOf } from '../../src/model/fields.ts'
import { attachment } from './entity.ts'
import { CreateAttachment, fields, UpdateAttachment } from './schema.ts'

export const createAttachment = creation(attachment, {
  input: CreateAttachment,
  target: ofTask('taskId'),
  role: 'EDITOR',
  path: '/tasks/attachments',
  fields: ({ id: _, name, ...input }, { now }) => {
    return { ...defaultsOf(fields), ...input, name: name.trim(), createdAt: now, updatedAt: now }
  },
})

export const updateAttachment = update(attachment, {
  input: UpdateAttachment,
  role: 'EDITOR',
  fields: ({ id: _, name, ...input }) => ({ ...input, name: name?.trim() }),
})

export const deleteAttachment = deletion(attachment, { role: 'EDITOR' })
`,
  'modules/attachments/routes.ts': `import type { Module } from '../../src/module.ts'
import { childList } from '../children/list.ts'
import { createAttachment, deleteAttachment, updateAttachment } from './commands.ts'
import { attachment } from './entity.ts'

export const attachments = {
  entity: attachment,
  writes: [
    ['post', '/tasks/:id/attachments', createAttachment, 'Attach a file'],
    ['patch', '/tasks/attachments/:id', updateAttachment, 'Change an attachment'],
    ['delete', '/tasks/attachments/:id', deleteAttachment, 'Delete an attachment'],
  ],
  reads: (services, seeTask) => [
    ['/tasks/:id/attachments', childList(services, attachment, seeTask), "List a task's attachments"],
  ],
} satisfies Module
`,
}

export const attachmentEdits: Edit[] = [
  {
    path: 'modules/modules.ts',
    find: "import { comments } from './comments/routes.ts'",
    put: "import { attachments } from './attachments/routes.ts'\nimport { comments } from './comments/routes.ts'",
  },
  { path: 'modules/modules.ts', find: 'subtasks, comments]', put: 'subtasks, comments, attachments]' },
]
