import { moduleText, type NewEntity } from './module-text.ts'

const schema = `import { Type } from '@sinclair/typebox'
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
`

const commands = `import { ofTask } from '../../src/commands/command.ts'
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
`

export const attachment: NewEntity = {
  files: moduleText({
    ...{ name: 'attachment', about: 'Files of a task.', parent: 'task', load: 'by row' },
    ...{
      path: '/tasks/attachments',
      columnTypes: ['integer', 'jsonb'],
      schema,
      commands,
      hasReferences: true,
    },
    columns: `    size: integer('size').notNull(),
    details: jsonb('details').$type<Record<string, unknown>>(),
    tagIds: jsonb('tag_ids').$type<string[]>().notNull().default([]),
    mainTagId: uuid('main_tag_id'),
    updatedAt: instant('updated_at').notNull(),`,
  }),
  edits: [
    {
      path: 'modules/modules.ts',
      find: "import { comments } from './comments/routes.ts'",
      put: "import { attachments } from './attachments/routes.ts'\nimport { comments } from './comments/routes.ts'",
    },
    { path: 'modules/modules.ts', find: 'subtasks, comments,', put: 'subtasks, comments, attachments,' },
  ],
}
