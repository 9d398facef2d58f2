import { Elysia } from 'elysia'
import type { Query } from '../../src/commands/query.ts'
import type { Http } from '../../src/http/http.ts'
import { createSubtask, deleteSubtask, toggleSubtask, updateSubtask } from './commands.ts'

export const subtaskRoutes = ({ guarded, run, ask }: Http, list: Query) =>
  new Elysia({ prefix: '/tasks' })
    .use(guarded)
    .post(...run('/:id/subtasks', createSubtask, 'Add a subtask'))
    .get(...ask('/:id/subtasks', list, "List a task's subtasks"))
    .patch(...run('/subtasks/:id/toggle', toggleSubtask, 'Invert the completed flag'))
    .patch(...run('/subtasks/:id', updateSubtask, 'Change a subtask'))
    .delete(...run('/subtasks/:id', deleteSubtask, 'Delete a subtask'))
