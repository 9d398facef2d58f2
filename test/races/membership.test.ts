import { beforeEach, expect, test } from 'bun:test'
import { type Body, invite, make, openClient, type Person, register } from '../support/client.ts'
import { faultsOf } from '../support/history.ts'
import { at, openPair, upTo } from './pair.ts'
import { forFile } from '../support/service.ts'

let guest: Person
let project: Body
let member: Body
const rounds = 50
// The guest writes at process B, so that B has the project cached when A changes the roles.
const pair = await forFile(openPair())
beforeEach(async () => {
  guest = at(await register(openClient(pair.a.url)), pair.b)
  project = await make(pair.atA, '/projects', { name: 'Shared' })
  member = await invite(pair.atA, project.id, guest, 'EDITOR')
})

const write = async () => (await guest.post('/tasks', { title: 'Mine', projectId: project.id })).status
const read = async () => (await guest.get(`/projects/${project.id}`)).status
async function setRole(role: string) {
  const { status } = await pair.atA.patch(`/projects/${project.id}/members/${member.id}/role`, { role })
  expect(status).toBe(200)
}

test('a role that is set at one process applies to the next write at the other process', async () => {
  for (const _ of upTo(rounds)) {
    await setRole('VIEWER')
    expect(await write()).toBe(403)
    await setRole('EDITOR')
    expect(await write()).toBe(201)
  }
  expect(await faultsOf(pair.sql)).toEqual([])
})

test('a member removed at one process gets 404 from the next request at the other', async () => {
  for (const n of upTo(rounds)) {
    const removed = await pair.atA.delete(`/projects/${project.id}/members/${member.id}`)
    expect(removed.status).toBe(200)
    expect(await (n % 2 ? write() : read())).toBe(404)
    expect(await (n % 2 ? read() : write())).toBe(404)
    member = await invite(pair.atA, project.id, guest, 'EDITOR')
    expect(await (n % 2 ? write() : read())).toBe(n % 2 ? 201 : 200)
  }
  expect(await faultsOf(pair.sql)).toEqual([])
})

test('under load, every write is rejected that starts after the member became a VIEWER', async () => {
  for (const _ of upTo(10)) {
    await setRole('EDITOR')
    let isRevoked = false
    const writer = async () => {
      for (;;) {
        const beganRevoked = isRevoked
        const status = await write()
        if (beganRevoked) return status
      }
    }
    const writers = upTo(8).map(writer)
    await setRole('VIEWER')
    isRevoked = true
    expect(await Promise.all(writers)).toEqual(upTo(8).map(() => 403))
  }
  expect(await faultsOf(pair.sql)).toEqual([])
})

test('a project deleted at one process returns 404 to the next request at the other', async () => {
  for (const n of upTo(rounds / 2)) {
    expect(await write()).toBe(201)
    expect((await pair.atA.delete(`/projects/${project.id}`)).status).toBe(200)
    expect(await (n % 2 ? write() : read())).toBe(404)
    project = await make(pair.atA, '/projects', { name: 'Shared again' })
    await invite(pair.atA, project.id, guest, 'EDITOR')
  }
})
