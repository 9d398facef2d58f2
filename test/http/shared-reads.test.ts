import { afterAll, beforeAll, expect, test } from 'bun:test'
import { createApp } from '../../src/app.ts'
import type { Sql } from '../../src/postgres/database.ts'
import { readConfig } from '../../src/config.ts'
import { openLog } from '../../src/log.ts'
import { openServices, type Services } from '../../src/services.ts'
import { commands } from '../../modules/commands.ts'
import { react } from '../../workers/reactions.ts'
import { invite, make, openClient, type Person, register } from '../support/client.ts'
import { freshEnv } from '../support/service.ts'
import { messagesOf, take } from './listen.ts'

const listeners = 40
let env: Awaited<ReturnType<typeof freshEnv>>
let services: Services
let app: ReturnType<typeof createApp>
let ada: Person
let texts: string[] = []
/** How often it was asked whether somebody may see a project. */
let looks = 0

/** Notes the text of every query that is sent. */
const noting = (sql: Sql): Sql =>
  new Proxy(sql, {
    apply(target, self, args: [TemplateStringsArray, ...unknown[]]) {
      texts.push(args[0].join('?'))
      return Reflect.apply(target, self, args)
    },
  })

beforeAll(async () => {
  env = await freshEnv()
  const config = readConfig(env.env)
  services = openServices(config, openLog(config.logLevel), { commands, react })
  const { reads } = services.database
  services.database.reads = noting(reads)
  const { findRole } = services
  services.findRole = (...asked) => {
    looks += 1
    return findRole(...asked)
  }
  app = createApp(services)
  ada = await register(openClient('http://localhost', undefined, (request) => app.fetch(request)))
})
afterAll(async () => {
  await services.close()
  await env.drop()
})

async function listen(who: Person, projectId: string) {
  const headers = { authorization: `Bearer ${who.token}`, accept: 'text/event-stream' }
  const url = `http://localhost/api/v1/projects/${projectId}/events`
  const { body } = await app.fetch(new Request(url, { headers }))
  const messages = messagesOf(body!)
  await messages.next()
  return messages
}

test('what many listen to is read and encoded once, and whether somebody may see it is asked once for all their streams', async () => {
  const { id: projectId } = await make(ada, '/projects', { name: 'Engine' })
  const grace = await register(openClient('http://localhost', undefined, (request) => app.fetch(request)))
  await invite(ada, projectId, grace)
  const all = []
  for (let i = 0; i < listeners; i++) all.push(await listen(i % 2 ? ada : grace, projectId))
  const rounds = 10
  for (let round = 0; round < rounds; round++) {
    texts = []
    looks = 0
    const heard = Promise.all(all.map((messages) => take(messages, 1)))
    await make(ada, '/tasks', { title: `T${round}`, projectId })
    for (const [event] of await heard) expect(event).toMatchObject({ id: String(round + 3) })
    // The text that finds events is a part of that which bounds them; people are looked up with them.
    expect([round, texts.filter((text) => text.includes('from events e')).length]).toEqual([round, 1])
    expect([round, looks]).toEqual([round, 2])
  }
})
