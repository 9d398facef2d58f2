import type { ProjectRow } from '../../drizzle/rows.ts'
import { projects } from '../../drizzle/schema/projects.ts'
import { byAdmin, entity } from '../../src/model/definition.ts'
import { conflict } from '../../src/responses/errors.ts'
import { projectView } from './schema.ts'

declare module '../../src/model/entities.ts' {
  interface Entities {
    project: { row: ProjectRow; event: 'created' | 'updated' | 'deleted' }
  }
}

export const creationNotUndoable = () => conflict("A project's creation cannot be undone: delete the project")
const deletionNotUndoable = () => conflict('A deleted project cannot be restored')

export const project = entity<'project'>({
  name: 'project',
  about: 'Containers of tasks. The user who creates a project owns it.',
  table: projects,
  optionalColumns: ['textEdits'],
  parent: null,
  load: 'with project',
  view: projectView,
  person: 'ownerId',
  events: {
    created: creationNotUndoable,
    updated: { by: 'updated', admit: byAdmin },
    deleted: deletionNotUndoable,
  },
})
