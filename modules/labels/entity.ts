import type { LabelRow } from '../../drizzle/rows.ts'
import { labels } from '../../drizzle/schema/projects.ts'
import { entity, standardEvents } from '../../src/model/definition.ts'
import { conflict } from '../../src/responses/errors.ts'
import { caseless } from '../../src/schema/input.ts'
import { labelView } from './schema.ts'

declare module '../../src/model/entities.ts' {
  interface Entities {
    label: { row: LabelRow; event: 'created' | 'updated' | 'deleted' }
  }
}

export const labelNameTaken = (name: string) => conflict(`The project already has a label named ${name}`)

export const label = entity<'label'>({
  name: 'label',
  about: 'Words for the tasks of a project. Each name is unique in its project without regard to case.',
  table: labels,
  parent: 'project',
  load: 'with project',
  view: labelView,
  events: standardEvents,
  maxRows: 500,
  checks: {
    name({ id, name }, _, state) {
      const wanted = caseless(name)
      const same = state.all('label').find((one) => one.id !== id && caseless(one.name) === wanted)
      if (same) throw labelNameTaken(same.name)
    },
  },
})
