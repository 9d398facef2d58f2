import type { FieldRow } from '../../drizzle/rows.ts'
import { taskFields } from '../../drizzle/schema/projects.ts'
import { byAdmin, entity } from '../../src/model/definition.ts'
import { conflict } from '../../src/responses/errors.ts'
import { fieldView } from './schema.ts'

declare module '../../src/model/entities.ts' {
  interface Entities {
    field: { row: FieldRow; event: 'created' | 'updated' | 'deleted' }
  }
}

export const fieldKeyTaken = (key: string) => conflict(`The project already has a field with the key ${key}`)

export const field = entity<'field'>({
  name: 'field',
  about: 'Fields that a project adds to its tasks. Each key is unique in its project.',
  table: taskFields,
  parent: 'project',
  load: 'with project',
  view: fieldView,
  events: {
    created: { by: 'deleted', admit: byAdmin },
    updated: { by: 'updated', admit: byAdmin },
    deleted: { by: 'created', admit: byAdmin },
  },
  maxRows: 50,
  checks: {
    key({ key }, _, state) {
      if (state.all('field').some((one) => one.key === key)) throw fieldKeyTaken(key)
    },
  },
})
