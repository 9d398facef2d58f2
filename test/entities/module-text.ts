import type { Edit } from './edits.ts'

export interface NewEntity {
  files: Record<string, string>
  edits: Edit[]
}

interface Options {
  name: string
  about: string
  parent: 'task' | 'project'
  load: 'with project' | 'by row'
  path: string
  columnTypes: string[]
  columns: string
  /** The column with the text of a row, by default `name`. */
  text?: string
  hasReferences?: boolean
  schema: string
  commands: string
}

export function moduleText(options: Options): Record<string, string> {
  const { name, parent, path, columnTypes, columns, schema, commands, text = 'name' } = options
  const Name = `${name[0]!.toUpperCase()}${name.slice(1)}`
  const isOfTask = parent === 'task'
  const list = `/${parent}s/:id/${name}s`
  return {
    [`drizzle/schema/${name}s.ts`]: `import { ${['index', 'pgTable', 'text', 'uuid', ...columnTypes].join(', ')} } from 'drizzle-orm/pg-core'
import { eventId, instant } from '../columns.ts'

export const ${name}s = pgTable(
  '${name}s',
  {
    id: uuid('id').primaryKey(),
    ${parent}Id: uuid('${parent}_id').notNull(),
    ${text}: text('${text}').notNull(),
${columns}
    createdAt: instant('created_at').notNull(),
    eventId,
  },
  (t) => [index('${name}s_${parent}').on(t.${parent}Id, t.id, t.createdAt)],
)
`,
    [`modules/${name}s/schema.ts`]: schema,
    [`modules/${name}s/entity.ts`]: entityText(options),
    [`modules/${name}s/commands.ts`]: commands,
    [`modules/${name}s/routes.ts`]: `import type { Module } from '../../src/module.ts'
import { childList } from '../children/list.ts'
import { create${Name}, delete${Name}, update${Name} } from './commands.ts'
import { ${name} } from './entity.ts'

export const ${name}s = {
  entity: ${name},
  writes: [
    ['post', '${list}', create${Name}, 'Create: ${name}'],
    ['patch', '${path}/:id', update${Name}, 'Change: ${name}'],
    ['delete', '${path}/:id', delete${Name}, 'Delete: ${name}'],
  ],
  reads: (services${isOfTask ? ', seeTask' : ''}) => [
    ['${list}', childList(services, ${name}, ${isOfTask ? 'seeTask' : 'services.findRole'}), 'List the ${name}s of a ${parent}'],
  ],
} satisfies Module
`,
  }
}

const commandOf = (verb: string, name: string) => `${verb}${name.charAt(0).toUpperCase()}${name.slice(1)}`

const entityText = ({ name, about, parent, load, hasReferences, text = 'name' }: Options) =>
  `import { ${name}s } from '../../drizzle/schema/${name}s.ts'
import { ${parent === 'task' ? 'childInput, ' : ''}entity, standardEvents } from '../../src/model/definition.ts'
${hasReferences ? "import { referencesIn } from '../../src/model/fields.ts'\nimport { fields } from './schema.ts'" : ''}
import { ${name}View${parent === 'task' ? `, ${commandOf('Create', name)}, ${commandOf('Update', name)}` : ''} } from './schema.ts'

declare module '../../src/model/entities.ts' {
  interface Entities {
    ${name}: { row: typeof ${name}s.$inferSelect; event: 'created' | 'updated' | 'deleted' }
  }
}

export const ${name} = entity<'${name}'>({
  name: '${name}',
  about: '${about}',
  table: ${name}s,
  parent: '${parent}',
  load: '${load}',
  view: ${name}View,
  ${parent === 'task' ? `asChild: { text: 'TEXT', input: childInput(${commandOf('Create', name)}, ${commandOf('Update', name)}) },`.replaceAll('TEXT', text) : ''}
  ${hasReferences ? 'references: referencesIn(fields),' : ''}
  events: standardEvents,
})
`
