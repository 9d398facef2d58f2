import { Elysia } from 'elysia'
import type { Http } from '../../src/http/http.ts'
import { createTask, deleteTask, updateTask } from './commands.ts'
import type { taskReads } from './reads.ts'

export const taskRoutes = ({ guarded, run, ask }: Http, { list, get }: ReturnType<typeof taskReads>) =>
  new Elysia({ prefix: '/tasks' })
    .use(guarded)
    .post(...run('', createTask, 'Create a task'))
    .get(...ask('', list, 'List tasks'))
    .get(...ask('/:id', get, 'Get a task'))
    .patch(...run('/:id', updateTask, 'Change a task, or move it'))
    .delete(...run('/:id', deleteTask, 'Delete a task'))
