import { faultsOf, make, openScene, register } from '../kit.ts'

const { client, ada, sql } = await openScene(['Ada'], { WRITE_TIMEOUT_MS: '2000', LOG_LEVEL: 'silent' })

test('while the disk of Postgres is full, writes get 503 and reads succeed; afterwards the same writes succeed once', async () => {
  const { id: projectId } = await make(ada, '/projects', { name: 'Engine' })
  const { id: taskId } = await make(ada, '/tasks', { projectId, title: 'Draw' })
  const key = (name: string) => ({ 'idempotency-key': name })
  const operations = [
    { op: 'task.create', title: 'Batch' },
    { op: 'task.update', id: taskId, status: 'DONE' },
  ]
  const file = { 'content-type': 'text/plain' }
  const writes = {
    create: () => ada.post('/tasks', { projectId, title: 'Keyed' }, key('create')),
    batch: () => ada.post(`/projects/${projectId}/batch`, { operations }, key('batch')),
    project: () => ada.post('/projects', { name: 'Other' }, key('project')),
    rename: () => ada.patch('/auth/me', { name: 'Ada King' }, key('rename')),
    import: () =>
      ada.call('POST', `/projects/${projectId}/imports?source=csv`, 'title\nCast\n', {
        ...file,
        ...key('import'),
      }),
    register: async () => ({
      status: await register(client).then(
        () => 201,
        (error: Error) => Number(error.message.slice(-3)),
      ),
    }),
  }
  const statuses = async () =>
    Object.fromEntries(
      await Promise.all(Object.entries(writes).map(async ([name, write]) => [name, (await write()).status])),
    )
  // Postgres reports this error if a statement needs another page of a table.
  await sql`create function extend() returns trigger language plpgsql as
    $$ begin raise exception 'could not extend file: No space left on device' using errcode = 'disk_full'; end $$`
  for (const table of ['events', 'users', 'import_chunks'])
    await sql`create trigger full_disk before insert or update on ${sql(table)} for each row execute function extend()`
  const names = Object.keys(writes)
  expect(await statuses()).toEqual(Object.fromEntries(names.map((name) => [name, 503])))
  for (const path of [
    '/projects',
    `/tasks?projectId=${projectId}`,
    `/projects/${projectId}/events`,
    '/auth/me',
  ])
    expect((await ada.get(path)).status).toBe(200)
  expect((await ada.get(`/tasks?projectId=${projectId}`)).body).toHaveLength(1)
  await sql`drop function extend cascade`
  const succeeded = { create: 201, batch: 200, project: 201, rename: 200, import: 202, register: 201 }
  for (let n = 0; n < 2; n++) expect(await statuses()).toEqual(succeeded)
  const { body } = await ada.get(`/tasks?projectId=${projectId}`)
  expect(body.map(({ title }) => title).sort()).toEqual(['Batch', 'Draw', 'Keyed'])
  expect(await faultsOf(sql)).toEqual([])
})
