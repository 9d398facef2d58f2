import { moduleText, type NewEntity } from './module-text.ts'

const schema = `import { Type } from '@sinclair/typebox'
import { view } from '../../src/model/view.ts'
import { Id, Timestamp } from '../../src/schema/response.ts'
import { IdOf, Input, OwnId } from '../../src/schema/input.ts'
import { Name } from '../../src/schema/text.ts'

const Title = Name(200, 'The plan')
const Address = Name(2_000, 'https://example.com/plan')

export const CreateLink = Input({ id: OwnId(), taskId: IdOf('task'), title: Title, url: Address })
export const UpdateLink = Input({ id: IdOf('link'), title: Type.Optional(Title), url: Type.Optional(Address) })

export const linkView = view<object>({
  name: 'Link',
  schema: Type.Object({
    id: Id('The link'),
    taskId: Id('The task that has the link'),
    title: Type.String({ description: 'The title', examples: ['The plan'] }),
    url: Type.String({ description: 'The address', examples: ['https://example.com/plan'] }),
    createdAt: Timestamp('When the link was created'),
  }),
})
`

const commands = `import { ofTask } from '../../src/commands/command.ts'
import { creation, deletion, update } from '../../src/commands/row-commands.ts'
import { link } from './entity.ts'
import { CreateLink, UpdateLink } from './schema.ts'

export const createLink = creation(link, {
  input: CreateLink,
  target: ofTask('taskId'),
  role: 'EDITOR',
  path: '/tasks/links',
  fields: ({ taskId, title, url }, { now }) => ({ taskId, title: title.trim(), url: url.trim(), createdAt: now }),
})

export const updateLink = update(link, {
  input: UpdateLink,
  role: 'EDITOR',
  fields: ({ title, url }) => ({ title: title?.trim(), url: url?.trim() }),
})

export const deleteLink = deletion(link, { role: 'EDITOR' })
`

export const link: NewEntity = {
  files: moduleText({
    ...{ name: 'link', about: 'Addresses of a task.', parent: 'task', load: 'by row', text: 'title' },
    ...{
      path: '/tasks/links',
      columnTypes: [],
      columns: "    url: text('url').notNull(),",
      schema,
      commands,
    },
  }),
  edits: [
    {
      path: 'modules/modules.ts',
      find: "import { members } from './members/routes.ts'",
      put: "import { links } from './links/routes.ts'\nimport { members } from './members/routes.ts'",
    },
    { path: 'modules/modules.ts', find: 'labels, fields, views]', put: 'labels, fields, views, links]' },
  ],
}
