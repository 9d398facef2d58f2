import { expect, test } from 'bun:test'
import { costOf, explained } from '../large/plans.ts'
import { upTo } from '../races/pair.ts'
import { type Answer, invite, make, type Person, register } from '../support/client.ts'
import { freshDatabase } from '../support/database.ts'
import { openTestService } from '../support/service.ts'
import { nowhere } from './scene.ts'

test('reads only roles for a member who may not remove another, alone and in a batch', async () => {
  const database = await freshDatabase()
  const { client, close } = await openTestService({ DATABASE_URL: explained(database.url) })
  const [owner, admin, viewer] = [await register(client), await register(client), await register(client)]
  const { id: projectId } = await make(owner, '/projects', { name: 'P' })
  const { id: memberId } = await invite(owner, projectId, admin, 'ADMIN')
  await invite(owner, projectId, viewer, 'VIEWER')
  for (const _ of upTo(60)) await make(admin, `/projects/${projectId}/webhooks`, { url: nowhere })
  const member = `/projects/${projectId}/members/${memberId}`
  const operations = [{ op: 'member.remove', memberId }]
  const asks: ((who: Person) => Promise<Answer>)[] = [
    (who) => who.delete(member),
    (who) => who.delete(`${member}?revoke=true`),
    (who) => who.post(`/projects/${projectId}/batch?dryRun=true`, { operations }),
  ]
  for (const ask of asks) {
    const cost = await costOf(async () => expect((await ask(viewer)).status).toBe(403))
    expect(cost.rows).toBeLessThan(20)
  }
  const allowed = await costOf(async () => expect((await asks.at(-1)!(owner)).status).toBe(200))
  expect(allowed.rows).toBeGreaterThan(60)
  await close()
  await database.drop()
})
