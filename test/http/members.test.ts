import { expect, test } from 'bun:test'
import { invite, make, register } from '../support/client.ts'
import { absentId, anId, anInstant, eventsOf, expectAnswer, expectRefusal, malformedIds } from './answers.ts'
import { wrongTexts } from './texts.ts'
import { openProject, openTeam } from './scene.ts'

const { service, client, people } = await openTeam()
const projectId = await openProject(people)
const path = `/projects/${projectId}/members`

test('inviting answers the member, a viewer unless said otherwise', async () => {
  const guest = await register(client)
  const answer = await people.owner.post(`${path}/invite`, { email: guest.email })
  const user = { id: guest.id, name: 'Someone', email: guest.email }
  const member = { id: anId, userId: guest.id, user, projectId, role: 'VIEWER', createdAt: anInstant }
  expectAnswer(answer, 201, member)
  expect((await guest.get(`/projects/${projectId}`)).status).toBe(200)
  for (const role of ['VIEWER', 'EDITOR', 'ADMIN']) {
    expect((await invite(people.admin, projectId, await register(client), role)).role).toBe(role)
  }
})

test('an address is found in every letter case', async () => {
  const guest = await register(client)
  const answer = await people.owner.post(`${path}/invite`, { email: ` ${guest.email.toUpperCase()} ` })
  expect(answer.body.userId).toBe(guest.id)
})

test('who is in the project already cannot be invited', async () => {
  const ask = (email: string) => people.admin.post(`${path}/invite`, { email, role: 'EDITOR' })
  const before = await eventsOf(service, projectId)
  expectRefusal(await ask(people.viewer.email), 409, /member already/)
  expectRefusal(await ask(people.admin.email), 409, /member already/)
  expectRefusal(await ask(people.owner.email), 409, /owns the project/)
  expectRefusal(await ask(people.viewer.email.toUpperCase()), 409)
  expect(await eventsOf(service, projectId)).toBe(before)
})

test('an address that nobody has is not found, said only to who may invite', async () => {
  const ask = { email: 'nobody-at-all@example.com' }
  expectRefusal(await people.owner.post(`${path}/invite`, ask), 404, 'User not found')
  expectRefusal(await people.viewer.post(`${path}/invite`, ask), 403)
  expectRefusal(await people.stranger.post(`${path}/invite`, ask), 404, 'Project not found')
})

test('an invitation needs an email address and knows three roles', async () => {
  for (const email of [...wrongTexts(254), 'not-an-address', undefined]) {
    expectRefusal(await people.owner.post(`${path}/invite`, { email }), 400, /^email /)
  }
  const { email } = people.stranger
  for (const role of ['OWNER', 'viewer', '', null, 1, ['ADMIN'], {}]) {
    expectRefusal(
      await people.owner.post(`${path}/invite`, { email, role }),
      400,
      /^role must be one of VIEWER/,
    )
  }
  expectRefusal(await people.stranger.get(`/projects/${projectId}`), 404)
})

test('the list holds everyone invited, in that order, without the owner', async () => {
  const id = await openProject(people)
  const { status, body } = await people.viewer.get(`/projects/${id}/members`)
  expect(status).toBe(200)
  const { admin, editor, viewer } = people
  expect(body.map(({ userId }) => userId).sort()).toEqual([admin.id, editor.id, viewer.id].sort())
  expect(body.map(({ id }) => id)).toEqual(body.map(({ id }) => id).sort())
  for (const member of body) {
    expect(member).toMatchObject({ id: anId, projectId: id, createdAt: anInstant })
    expect(Object.keys(member)).toEqual(['id', 'userId', 'user', 'projectId', 'role', 'createdAt'])
  }
})

test('setting a role answers the member; the same role again leaves no trace', async () => {
  const member = await invite(people.owner, projectId, await register(client))
  const before = await eventsOf(service, projectId)
  for (const [role, events] of Object.entries({ VIEWER: 0, ADMIN: 1, EDITOR: 2 })) {
    for (const _again of [1, 2]) {
      expectAnswer(await people.admin.patch(`${path}/${member.id}/role`, { role }), 200, { ...member, role })
    }
    expect(await eventsOf(service, projectId)).toBe(before + events)
  }
  for (const role of ['OWNER', 'admin', '', null, 0, undefined]) {
    expectRefusal(await people.admin.patch(`${path}/${member.id}/role`, { role }), 400, /^role /)
  }
})

test('removing says so; the user is out and may be invited again', async () => {
  const guest = await register(client)
  const member = await invite(people.owner, projectId, guest)
  const message = 'Member removed successfully'
  const none = { webhooks: [], serviceAccounts: [], tokens: [] }
  const removed = { message, stillWorking: none, revoked: none }
  expectAnswer(await people.owner.delete(`${path}/${member.id}`), 200, removed)
  expectRefusal(await guest.get(`/projects/${projectId}`), 404, 'Project not found')
  expectAnswer(await guest.get('/projects'), 200, [])
  expectRefusal(await people.owner.delete(`${path}/${member.id}`), 404, 'Member not found')
  expect((await invite(people.owner, projectId, guest, 'EDITOR')).id).not.toBe(member.id)
})

test('any member may leave, and nobody can be put out by an equal', async () => {
  for (const role of ['VIEWER', 'EDITOR', 'ADMIN']) {
    const guest = await register(client)
    const { id } = await invite(people.owner, projectId, guest, role)
    if (role !== 'ADMIN') expectRefusal(await people.editor.delete(`${path}/${id}`), 403)
    expect((await guest.delete(`${path}/${id}`)).status).toBe(200)
    expectRefusal(await guest.get(`/projects/${projectId}`), 404)
  }
})

test('a member who is absent, malformed or of another project is not found', async () => {
  const other = await make(people.owner, '/projects', { name: 'Other' })
  const elsewhere = await invite(people.owner, other.id, people.viewer)
  for (const id of [absentId, elsewhere.id, ...malformedIds]) {
    const set = await people.owner.patch(`${path}/${id}/role`, { role: 'ADMIN' })
    expectRefusal(set, 404, 'Member not found')
    expectRefusal(await people.owner.delete(`${path}/${id}`), 404, 'Member not found')
  }
  expectRefusal(await people.viewer.delete(`${path}/${absentId}`), 403)
})
