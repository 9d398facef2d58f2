import { moduleText, type NewEntity } from './module-text.ts'

const schema = `import { Type } from '@sinclair/typebox'
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
    id: Id('The tag'),
    projectId: Id('The project it belongs to'),
    name: Type.String({ description: 'The name of the tag', examples: ['urgent'] }),
    createdAt: Timestamp('When it was created'),
  }),
})
`

const commands = `import { inProject } from '../../src/commands/command.ts'
import { creation, deletion, update } from '../../src/commands/row-commands.ts'
import { conflict } from '../../src/responses/errors.ts'
import { tag } from './entity.ts'
import { CreateTag, UpdateTag } from './schema.ts'

const nameTaken = () => conflict('The project has a tag of this name')

export const createTag = creation(tag, {
  input: CreateTag,
  target: inProject(),
  role: 'EDITOR',
  path: '/tags',
  fields({ projectId, name }, { now }, state) {
    if (state.all('tag').some((one) => one.name === name.trim())) throw nameTaken()
    return { projectId, name: name.trim(), createdAt: now }
  },
  errors: [nameTaken()],
})

export const updateTag = update(tag, {
  input: UpdateTag,
  role: 'EDITOR',
  fields: ({ name }) => ({ name: name?.trim() }),
})

export const deleteTag = deletion(tag, { role: 'EDITOR' })
`

export const tag: NewEntity = {
  files: moduleText({
    ...{ name: 'tag', about: 'Words for tasks of a project.', parent: 'project', load: 'with project' },
    ...{ path: '/tags', columnTypes: [], columns: '', schema, commands },
  }),
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
