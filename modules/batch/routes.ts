import { Elysia } from 'elysia'
import type { Http } from '../../src/http/http.ts'
import { batchProject } from '../commands.ts'

export const batchRoutes = ({ guarded, run }: Http) =>
  new Elysia({ prefix: '/projects' })
    .use(guarded)
    .post(...run('/:id/batch', batchProject, 'Do many writes at once'))
