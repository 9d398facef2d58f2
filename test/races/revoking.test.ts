import { expect, test } from 'bun:test'
import { accountsPath, type Account, tokensPath } from '../http/account-scene.ts'
import { unreachableUrl } from '../http/scene.ts'
import { invite, make, openClient, register, expiresAt } from '../support/client.ts'
import { faultsOf } from '../support/history.ts'
import { at, openPair, upTo } from './pair.ts'

// Each process releases its lease after every batch, so that both processes write.
const pair = await openPair({ LEASE_SLICE_MS: '0' })

test('removing a member with revoke=true deletes webhooks, service accounts and tokens that the member creates meanwhile', async () => {
  for (const _ of upTo(5)) {
    const { id: projectId } = await make(pair.atA, '/projects', { name: 'Contended' })
    const admin = await register(openClient(pair.a.url))
    const admins = [admin, at(admin, pair.b)]
    const { id: memberId } = await invite(pair.atA, projectId, admin, 'ADMIN')
    const account = (await make(admin, accountsPath(projectId), { name: 'First' })) as Account
    const wanted = { name: 'T', scopes: ['admin'], expiresAt }
    const creations = upTo(8).flatMap((n) => {
      const by = admins[n % 2]!
      return [
        by.post(`/projects/${projectId}/webhooks`, { url: unreachableUrl }),
        by.post(accountsPath(projectId), { name: 'More' }),
        by.post(tokensPath(account), wanted),
      ]
    })
    const removal = pair.atB.delete(`/projects/${projectId}/members/${memberId}?revoke=true`)
    const answers = await Promise.all(creations)
    expect((await removal).status).toBe(200)
    for (const { status } of answers) expect([201, 404]).toContain(status)
    expect((await pair.atA.get(`/projects/${projectId}/webhooks`)).body).toHaveLength(0)
    expect((await pair.atA.get(accountsPath(projectId))).body).toHaveLength(0)
    expect((await pair.atA.get(`/projects/${projectId}/members`)).body).toHaveLength(0)
  }
  expect(await faultsOf(pair.sql)).toEqual([])
})

test('webhooks that two processes create concurrently have distinct slot numbers and stay within the limit', async () => {
  const { id: projectId } = await make(pair.atA, '/projects', { name: 'Full' })
  const path = `/projects/${projectId}/webhooks`
  const created = await Promise.all(
    upTo(120).map((n) => [pair.atA, pair.atB][n % 2]!.post(path, { url: unreachableUrl })),
  )
  expect(created.filter(({ status }) => status === 201)).toHaveLength(100)
  expect(created.filter(({ status }) => status === 409)).toHaveLength(20)
  const [row] = await pair.sql<{ n: number }[]>`
    select count(distinct slot)::int4 as n from webhooks where project_id = ${projectId}`
  expect(row!.n).toBe(100)
  expect(await faultsOf(pair.sql)).toEqual([])
})
