import { Elysia } from 'elysia'
import type { Http } from '../../src/http/http.ts'
import { undoProject } from './undo.ts'

export const undoRoutes = ({ guarded, run }: Http) =>
  new Elysia({ prefix: '/projects' }).use(guarded).post(...run('/:id/undo', undoProject, 'Undo changes'))
