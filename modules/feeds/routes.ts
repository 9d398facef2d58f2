import { Elysia } from 'elysia'
import type { Http } from '../../src/http/http.ts'
import type { feedReads } from './reads.ts'

type Reads = ReturnType<typeof feedReads>

export const feedRoutes = ({ guarded, reading, ask }: Http, { overview, readMany }: Reads) =>
  new Elysia({ prefix: '/events' })
    .use(new Elysia().use(guarded).get(...ask('', overview, 'Follow all projects')))
    .use(new Elysia().use(reading).post(...ask('/read', readMany, 'Read the events of many projects')))
