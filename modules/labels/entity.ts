import type { LabelRow } from '../../drizzle/rows.ts'
import { labels } from '../../drizzle/schema/labels.ts'
import { entity, standardEvents } from '../../src/model/definition.ts'
import { conflict } from '../../src/responses/errors.ts'
import { caseless } from '../../src/schema/text.ts'
import { labelView } from './schema.ts'

declare module '../../src/model/entities.ts' {
  interface Entities {
    label: { row: LabelRow; event: 'created' | 'updated' | 'deleted' }
  }
}

export const maxLabels = 500

export const labelNameTaken = (name: string) => conflict(`The project already has a label named ${name}`)
export const tooManyLabels = () => conflict(`A project has at most ${maxLabels} labels`)

export const label = entity<'label'>({
  name: 'label',
  about: 'Words for the tasks of a project. Each name is unique in its project without regard to case.',
  table: labels,
  parent: 'project',
  load: 'with project',
  view: labelView,
  events: standardEvents,
  check({ id, name }, before, state) {
    const wanted = caseless(name)
    if (before && caseless(before.name) === wanted) return
    const all = state.all('label')
    const same = all.find((one) => one.id !== id && caseless(one.name) === wanted)
    if (same) throw labelNameTaken(same.name)
    if (!before && all.length >= maxLabels) throw tooManyLabels()
  },
})
