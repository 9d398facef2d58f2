import { Elysia } from 'elysia'
import type { Http } from '../../src/http/http.ts'
import type { eventReads } from './reads.ts'

export const eventRoutes = ({ guarded, ask }: Http, { list }: ReturnType<typeof eventReads>) =>
  new Elysia({ prefix: '/projects' }).use(guarded).get(...ask('/:id/events', list, 'List events'))
