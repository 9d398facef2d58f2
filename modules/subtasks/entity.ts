import type { SubtaskRow } from '../../drizzle/rows.ts'
import { subtasks } from '../../drizzle/schema/subtasks.ts'
import { byEditor, childInput, entity, standardEvents } from '../../src/model/definition.ts'
import { subtaskCell } from '../exports/cells.ts'
import { CreateSubtask, subtaskView, UpdateSubtask } from './schema.ts'

declare module '../../src/model/entities.ts' {
  interface Entities {
    subtask: { row: SubtaskRow; event: 'created' | 'updated' | 'toggled' | 'deleted' }
  }
}

const { deleted, ...events } = standardEvents

export const subtask = entity<'subtask'>({
  name: 'subtask',
  about: 'The steps of a task, each open or completed.',
  table: subtasks,
  parent: 'task',
  load: 'by row',
  view: subtaskView,
  asChild: { text: 'title', input: childInput(CreateSubtask, UpdateSubtask), cell: subtaskCell },
  events: { ...events, toggled: { by: 'toggled', admit: byEditor }, deleted },
})
