import type { ViewRow } from '../../drizzle/rows.ts'
import { taskViews } from '../../drizzle/schema/projects.ts'
import { entity, standardEvents } from '../../src/model/definition.ts'
import { savedView } from './schema.ts'

declare module '../../src/model/entities.ts' {
  interface Entities {
    view: { row: ViewRow; event: 'created' | 'updated' | 'deleted' }
  }
}

export const taskListView = entity<'view'>({
  name: 'view',
  about: 'Saved lists of the tasks of a project.',
  table: taskViews,
  parent: 'project',
  load: 'with project',
  view: savedView,
  events: standardEvents,
  maxRows: 100,
})
