import { anId, aTimestamp, expectError, expectResponse, invite, make, malformedIds } from '../kit.ts'
import { openProject, openTeam, register, registerTeam, unknownId } from '../kit.ts'
import type { Person } from '../kit.ts'
import { invalidTexts } from './sample-texts.ts'

const { client, people, owner, admin, viewer, countEvents } = await openTeam()
const projectId = await openProject(people)
const path = `/projects/${projectId}/members`
const sendInvitation = (body: object) => owner.post(`${path}/invite`, body)

test('the caller owns a new project, and ownerId in the body is ignored', async () => {
  const fields = { name: 'Engine', description: 'With wheels' }
  const answer = await owner.post('/projects', { ...fields, ownerId: unknownId })
  const user = { id: owner.id, name: 'Someone', email: owner.email }
  const settings = { textEdits: 'last-write-wins' }
  const expected = { id: anId, ...fields, ...settings, ownerId: owner.id, owner: user, createdAt: aTimestamp }
  expectResponse(answer, 201, expected)
  expectResponse(await owner.get(`/projects/${answer.body.id}`), 200, answer.body)
  expectError(await owner.post('/projects', { name: 'P', version: 9 }), 400, 'version is not known here')
  for (const fields of [{}, { description: null }, { description: '' }, { description: '  ' }])
    expect((await make(owner, '/projects', { name: 'P', ...fields })).description).toBeNull()
})

test('an update keeps absent fields, clears null fields, and writes no event when nothing changes', async () => {
  const before = await make(owner, '/projects', { name: 'Same', description: 'Text' })
  const at = `/projects/${before.id}`
  const { headers } = await owner.get(at)
  for (const same of [{}, { name: ' Same ', description: 'Text' }, { ownerId: unknownId }]) {
    const answer = await owner.patch(at, same)
    expectResponse(answer, 200, before)
    expect(answer.headers.get('etag')).toBe(headers.get('etag'))
  }
  expect(await countEvents(before.id)).toBe(1)
  expectResponse(await owner.patch(at, { name: ' New ' }), 200, { ...before, name: 'New' })
  const after = { ...before, name: 'New', description: null }
  expectResponse(await owner.patch(at, { description: null }), 200, after)
  expectResponse(await owner.get(at), 200, after)
  expect(await countEvents(before.id)).toBe(3)
})

test("the list contains the caller's own projects and those of which the caller is a member", async () => {
  const others = await registerTeam(client)
  const shared = await openProject(others, 'Shared')
  const own = await make(others.viewer, '/projects', { name: 'Own' })
  const { body } = await others.viewer.get('/projects')
  expect(body.map(({ id }) => id)).toEqual([shared, own.id])
  expectResponse(await others.viewer.get(`/projects/${shared}`), 200, body[0])
  expectResponse(await others.stranger.get('/projects'), 200, [])
})

test('DELETE returns a message, and the project disappears from every response', async () => {
  const others = await registerTeam(client)
  const at = `/projects/${await openProject(others)}`
  expectResponse(await others.owner.delete(at), 200, { message: 'Project deleted successfully' })
  expectError(await others.owner.get(at), 404, 'Project not found')
  expectError(await others.owner.delete(at), 404, 'Project not found')
  for (const one of [others.owner, others.viewer]) expectResponse(await one.get('/projects'), 200, [])
})

test('an invitation returns the new member, by default a VIEWER; the e-mail address is matched in any letter case', async () => {
  const guest = await register(client)
  const user = { id: guest.id, name: 'Someone', email: guest.email }
  const member = { id: anId, userId: guest.id, user, projectId, role: 'VIEWER', createdAt: aTimestamp }
  expectResponse(await sendInvitation({ email: ` ${guest.email.toUpperCase()} ` }), 201, member)
  expect((await guest.get(`/projects/${projectId}`)).status).toBe(200)
  for (const role of ['VIEWER', 'EDITOR', 'ADMIN'])
    expect((await invite(admin, projectId, await register(client), role)).role).toBe(role)
})

test('an invitation needs an e-mail address and one of three roles', async () => {
  for (const email of [...invalidTexts(254), 'not-an-address', undefined])
    expectError(await sendInvitation({ email }), 400, /^email /)
  const { email } = people.stranger
  for (const role of ['OWNER', 'viewer', '', null, 1, ['ADMIN'], {}])
    expectError(await sendInvitation({ email, role }), 400, /^role must be one of VIEWER/)
  expectError(await people.stranger.get(`/projects/${projectId}`), 404)
  // The error must not tell whether an account has the address.
  for (const address of ['nobody@example.com', email]) {
    const invite = (by: Person) => by.post(`${path}/invite`, { email: address })
    expectError(await invite(people.editor), 403, 'This needs the role ADMIN in the project')
    expectError(await invite(people.stranger), 404, 'Project not found')
  }
  expectError(await sendInvitation({ email: owner.email }), 409, 'This user owns the project')
  expectError(await sendInvitation({ email: viewer.email }), 409, 'This user is a member already')
})

test('the list contains all members in the order of their invitations, without the owner', async () => {
  const id = await openProject(people)
  const { status, body } = await viewer.get(`/projects/${id}/members`)
  expect(status).toBe(200)
  const ids = [admin, people.editor, viewer].map((one) => one.id)
  expect(body.map(({ userId }) => userId).sort()).toEqual(ids.sort())
  expect(body.map((one) => one.id)).toEqual(body.map((one) => one.id).sort())
  for (const member of body) {
    expect(member).toMatchObject({ id: anId, projectId: id, createdAt: aTimestamp })
    expect(Object.keys(member)).toEqual(['id', 'userId', 'user', 'projectId', 'role', 'createdAt'])
  }
})

test('setting a role returns the member; setting the same role again writes no event', async () => {
  const member = await invite(owner, projectId, await register(client))
  const set = (role: unknown) => admin.patch(`${path}/${member.id}/role`, { role })
  const before = await countEvents(projectId)
  for (const [role, events] of Object.entries({ VIEWER: 0, ADMIN: 1, EDITOR: 2 })) {
    for (const _again of [1, 2]) expectResponse(await set(role), 200, { ...member, role })
    expect(await countEvents(projectId)).toBe(before + events)
  }
  for (const role of ['OWNER', 'admin', '', null, 0, undefined]) expectError(await set(role), 400, /^role /)
})

test('an ADMIN may lower their own role, and cannot set it again', async () => {
  const other = await register(client)
  const member = await invite(owner, projectId, other, 'ADMIN')
  const set = (role: string) => other.patch(`${path}/${member.id}/role`, { role })
  expectResponse(await set('VIEWER'), 200, { ...member, role: 'VIEWER' })
  expectError(await set('ADMIN'), 403, 'This needs the role ADMIN in the project')
})

test('removing a member returns a message; the user loses access and may be invited again', async () => {
  const guest = await register(client)
  const { id } = await invite(owner, projectId, guest)
  const none = { webhooks: [], serviceAccounts: [], tokens: [] }
  const removed = { message: 'Member removed successfully', stillWorking: none, revoked: none }
  expectResponse(await owner.delete(`${path}/${id}`), 200, removed)
  expectError(await guest.get(`/projects/${projectId}`), 404, 'Project not found')
  expectResponse(await guest.get('/projects'), 200, [])
  expectError(await owner.delete(`${path}/${id}`), 404, 'Member not found')
  expect((await invite(owner, projectId, guest, 'EDITOR')).id).not.toBe(id)
})

test('an unknown or malformed member id, or a member id of another project, gets 404', async () => {
  const other = await make(owner, '/projects', { name: 'Other' })
  const elsewhere = await invite(owner, other.id, viewer)
  for (const id of [unknownId, elsewhere.id, ...malformedIds]) {
    expectError(await owner.patch(`${path}/${id}/role`, { role: 'ADMIN' }), 404, 'Member not found')
    expectError(await owner.delete(`${path}/${id}`), 404, 'Member not found')
  }
  expectError(await viewer.delete(`${path}/${unknownId}`), 403)
})

test('every member may leave', async () => {
  for (const role of ['VIEWER', 'EDITOR', 'ADMIN']) {
    const member = await register(client)
    const { id } = await invite(owner, projectId, member, role)
    expect((await member.delete(`${path}/${id}`)).status).toBe(200)
    expectError(await member.get(`/projects/${projectId}`), 404)
  }
})
