import { eventually, expectError, invite, make, register, statuses, upTo, withService } from '../../kit.ts'
import { csv, openImportScene, rowsOf, start } from './scene.ts'

const scene = await openImportScene()
const { sql, client, newProject } = scene

test('stores one of several concurrent uploads to a project, and rejects the others with 409', async () => {
  const { owner, projectId } = await newProject()
  const answers = await Promise.all(upTo(4).map(() => start(owner, projectId)))
  expect(statuses(answers)).toEqual({ 202: 1, 409: 3 })
  const stored = answers.find(({ status }) => status === 202)!.body.id
  expectError(await start(owner, projectId), 409, new RegExp(`^The import ${stored} has not ended`))
  expect(await rowsOf(sql, projectId)).toBe(1)
})

test('an account has at most four active imports: the fifth gets 429', async () => {
  const owner = await register(client)
  const projects = await Promise.all(upTo(5).map(() => make(owner, '/projects', { name: 'P' })))
  const [last, ...others] = projects.map(({ id }) => id)
  for (const id of others) expect((await start(owner, id)).status).toBe(202)
  const answer = await start(owner, last!)
  expectError(answer, 429, /^An account can have 4 active imports and undos of imports: wait/)
  expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
  const { body } = await owner.get(`/projects/${others[0]}/imports`)
  await scene.end(body[0]!.id)
  expect((await start(owner, last!)).status).toBe(202)
})

test('an undo counts as an active import of the account that requests it, not of the account that imported the file', async () => {
  const [owner, admin] = [await register(client), await register(client)]
  const ids: string[] = []
  for (const { id } of await Promise.all(upTo(5).map(() => make(owner, '/projects', { name: 'P' })))) {
    await invite(owner, id, admin, 'ADMIN')
    ids.push((await start(owner, id)).body.id)
    await scene.end(ids.at(-1)!)
  }
  const [last, ...others] = ids
  const undos = others.map((id) => admin.post(`/imports/${id}/undo`))
  await eventually('the queued undos', async () => {
    const queued = await sql`select from imports where id in ${sql(others)} and undo_state = 'queued'`
    return queued.length === others.length
  })
  const answer = await admin.post(`/imports/${last}/undo`)
  expectError(answer, 429, /^An account can have 4 active imports and undos of imports: wait/)
  expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
  expect((await owner.get(`/imports/${last}`)).body).toMatchObject({ undo: null })
  const { body } = await owner.get(`/imports/${last}`)
  expect((await start(owner, body.projectId)).status).toBe(202)
  for (const id of others) await scene.set(id, { undo_state: 'done' })
  expect(statuses(await Promise.all(undos))).toEqual({ 200: 4 })
})

test('a file above IMPORT_BYTES gets 413, whether or not its length is known', async () => {
  await withService({ IMPORT_BYTES: '300000' }, async ({ client, services, fetch }) => {
    const owner = await register(client)
    const { id } = await make(owner, '/projects', { name: 'P' })
    const sql = services.database.background
    const message = 'The body must be at most 300000 bytes'
    expectError(await start(owner, id, 'x'.repeat(300_001)), 413, message)
    const pieces = new ReadableStream({
      start(controller) {
        for (const _ of upTo(4)) controller.enqueue(new Uint8Array(100_000))
        controller.close()
      },
    })
    const headers = { authorization: `Bearer ${owner.token}` }
    const init = { method: 'POST', headers, body: pieces }
    expect((await fetch(`/api/v1/projects/${id}/imports?source=csv`, init)).status).toBe(413)
    expect([await rowsOf(sql, id), (await sql`select from import_chunks`).length]).toEqual([0, 0])
    expect((await start(owner, id, 'x'.repeat(300_000))).status).toBe(202)
  })
})

test('each chunk of a file counts as a write', async () => {
  await withService({ WRITES_PER_MINUTE: '8' }, async ({ client, services }) => {
    const owner = await register(client)
    const { id } = await make(owner, '/projects', { name: 'P' })
    expectError(await start(owner, id, 'x'.repeat(3_000_000)), 429, /^Too many requests/)
    expect(await rowsOf(services.database.background, id)).toBe(0)
  })
})

test('does not read the file of a request that is rejected', async () => {
  const { owner, projectId } = await newProject()
  const { body: active } = await start(owner, projectId)
  const send = async (token: string | undefined) => {
    let pulled = 0
    const body = new ReadableStream(
      { pull: (controller) => void (pulled++, controller.enqueue(new TextEncoder().encode(csv))) },
      { highWaterMark: 0 },
    )
    const headers = { ...(token && { authorization: `Bearer ${token}` }) }
    const path = `/api/v1/projects/${projectId}/imports?source=csv`
    const { status } = await scene.service.fetch(path, { method: 'POST', headers, body })
    return [status, pulled]
  }
  expect(await send(undefined)).toEqual([401, 0])
  expect(await send((await register(client)).token)).toEqual([404, 0])
  expect(await send(owner.token)).toEqual([409, 0])
  expect((await owner.get(`/imports/${active.id}`)).status).toBe(200)
})
