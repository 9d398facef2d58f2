import type { NewEntity } from './edits.ts'

/** An entity of a project, to whose rows tasks and their children refer. */
export const tag: NewEntity = {
  files: {
    'drizzle/schema/tags.ts': `import { index, pgTable, text, uuid } from 'drizzle-orm/pg-core'
import { eventId, instant } from '../columns.ts'
export const tags = pgTable('tags', {
  id: uuid('id').primaryKey(),
  projectId: uuid('project_id').notNull(),
  name: text('name').notNull(),
  createdAt: instant('created_at').notNull(),
  eventId,
}, (t) => [index('tags_project').on(t.projectId, t.id, t.createdAt)])
`,
    'modules/tags/schema.ts': `import { Type } from '@sinclair/typebox'
import { view } from '../../src/model/view.ts'
import { Id, Timestamp } from '../../src/schema/response.ts'
import { IdOf, Input, OwnId } from '../../src/schema/input.ts'
import { Name } from '../../src/schema/text.ts'
const TagName = Name(50, 'urgent')
export const CreateTag = Input({ id: OwnId(), projectId: IdOf('project'), name: TagName })
export const UpdateTag = Input({ id: IdOf('tag'), name: Type.Optional(TagName) })
export const tagView = view<object>({
  name: 'Tag',
  schema: Type.Object({
    id: Id('The tag'), projectId: Id('The project it belongs to'),
    name: Type.String({ description: 'The name of the tag', examples: ['urgent'] }), createdAt: Timestamp('When it was created'),
  }),
})
`,
    'modules/tags/entity.ts': `import { tags } from '../../drizzle/schema/tags.ts'
import { entity, standardEvents } from '../../src/model/definition.ts'
import { tagView } from './schema.ts'
declare module '../../src/model/entities.ts' {
  interface Entities { tag: { row: typeof tags.$inferSelect; event: 'created' | 'updated' | 'deleted' } }
}
export const tag = entity<'tag'>({
  name: 'tag', about: 'Words for tasks of a project.', table: tags, parent: 'project', load: 'with project', view: tagView,
  events: standardEvents,
})
`,
    'modules/tags/commands.ts': `import { inProject } from '../../src/commands/command.ts'
import { creation, deletion, update } from '../../src/commands/row-commands.ts'
import { conflict } from '../../src/responses/errors.ts'
import { tag } from './entity.ts'
import { CreateTag, UpdateTag } from './schema.ts'
const nameTaken = () => conflict('The project has a tag of this name')
export const createTag = creation(tag, {
  input: CreateTag, target: inProject(), role: 'EDITOR', path: '/tags',
  fields({ projectId, name }, { now }, state) {
    if (state.all('tag').some((one) => one.name === name.trim())) throw nameTaken()
    return { projectId, name: name.trim(), createdAt: now }
  },
  errors: [nameTaken()],
})
export const updateTag = update(tag, { input: UpdateTag, role: 'EDITOR', fields: ({ name }) => ({ name: name?.trim() }) })
export const deleteTag = deletion(tag, { role: 'EDITOR' })
`,
    'modules/tags/routes.ts': `import type { Module } from '../../src/module.ts'
import { childList } from '../children/list.ts'
import { createTag, deleteTag, updateTag } from './commands.ts'
import { tag } from './entity.ts'
export const tags = {
  entity: tag,
  writes: [
    ['post', '/projects/:id/tags', createTag, 'Create a tag'],
    ['patch', '/tags/:id', updateTag, 'Change a tag'],
    ['delete', '/tags/:id', deleteTag, 'Delete a tag'],
  ],
  reads: (services) => [['/projects/:id/tags', childList(services, tag, services.findRole), 'List the tags of a project']],
} satisfies Module
`,
  },
  edits: [
    {
      path: 'modules/modules.ts',
      find: "import { tasks } from './tasks/routes.ts'",
      put: "import { tags } from './tags/routes.ts'\nimport { tasks } from './tasks/routes.ts'",
    },
    { path: 'modules/modules.ts', find: '[projects, members,', put: '[projects, members, tags,' },
    {
      path: 'drizzle/schema/tasks.ts',
      find: "    createdAt: instant('created_at')",
      put: "    tagIds: uuid('tag_ids').array().notNull().default([]),\n    createdAt: instant('created_at')",
    },
    {
      path: 'modules/tasks/schema.ts',
      find: 'export const fields = {',
      put: "export const fields = {\n  tagIds: field.ids('tag', { by: 'name' }),",
    },
  ],
}
