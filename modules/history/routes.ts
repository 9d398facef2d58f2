import { Elysia } from 'elysia'
import type { Http } from '../../src/http/http.ts'
import type { historyReads } from './reads.ts'

export const historyRoutes = ({ guarded, ask }: Http, reads: ReturnType<typeof historyReads>) =>
  new Elysia()
    .use(guarded)
    .get(...ask('/projects/:id/history', reads.ofProject, "Read a project's history"))
    .get(...ask('/tasks/:id/history', reads.ofTask, "Read a task's history"))
