import { Elysia } from 'elysia'
import type { Http } from '../../src/http/http.ts'
import { createProject, deleteProject, updateProject } from './commands.ts'
import type { projectReads } from './reads.ts'

export const projectRoutes = ({ guarded, run, ask }: Http, { list, get }: ReturnType<typeof projectReads>) =>
  new Elysia({ prefix: '/projects' })
    .use(guarded)
    .post(...run('', createProject, 'Create a project'))
    .get(...ask('', list, 'List projects'))
    .get(...ask('/:id', get, 'Get a project'))
    .patch(...run('/:id', updateProject, 'Change a project'))
    .delete(...run('/:id', deleteProject, 'Delete a project'))
