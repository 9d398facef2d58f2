import { afterAll, beforeAll, expect, test } from 'bun:test'
import { readConfig } from '../../src/config.ts'
import { type Database, openDatabase } from '../../src/postgres/database.ts'
import { make, openClient, type Person, register } from '../support/client.ts'
import { faultsOf } from '../support/history.ts'
import { freshEnv, type ServiceProcess, spawnService } from '../support/service.ts'
import { openProxy, type Proxy } from './proxy.ts'

let web: ServiceProcess
let proxy: Proxy
let database: Database
let ada: Person
let drop: () => Promise<void>
beforeAll(async () => {
  const fresh = await freshEnv()
  drop = fresh.drop
  database = openDatabase(readConfig(fresh.env))
  proxy = await openProxy(fresh.env.DATABASE_URL!)
  web = await spawnService('web', { ...fresh.env, DATABASE_URL: proxy.url })
  ada = await register(openClient(web.url))
})
afterAll(async () => {
  await Promise.all([web.stop('SIGKILL'), database.close()])
  proxy.close()
  await drop()
})

test('who undoes an old deletion brings back nothing, when the task has moved since and is deleted meanwhile', async () => {
  const [here, there] = [
    await make(ada, '/projects', { name: 'Here' }),
    await make(ada, '/projects', { name: 'There' }),
  ]
  const { id } = await make(ada, '/tasks', { title: 'Of old', projectId: here.id })
  await ada.delete(`/tasks/${id}`)
  const undo = (seq: number) => ada.post(`/projects/${here.id}/undo`, { seq })
  expect((await undo(3)).status).toBe(200)
  await ada.patch(`/tasks/${id}`, { title: 'Renewed' })
  expect((await ada.patch(`/tasks/${id}`, { projectId: there.id })).status).toBe(200)
  // Were it decided to bring it back, this would be the commit of that.
  const commit = proxy.hold('Of old')
  const undone = undo(3)
  const isHeld = await Promise.race([commit.held.then(() => true), undone.then(() => false)])
  expect((await ada.delete(`/tasks/${id}`)).status).toBe(200)
  if (isHeld) await commit.deliver()
  expect((await undone).status).toBe(409)
  expect((await ada.get(`/tasks/${id}`)).status).toBe(404)
  expect(await faultsOf(database.reads)).toEqual([])
})
