import { faultsOf, make, openScene, register } from '../kit.ts'

const { client, ada, sql } = await openScene(['Ada'], { WRITE_TIMEOUT_MS: '2000', LOG_LEVEL: 'silent' })

test('while the disk of Postgres is full, writes get 503 and reads succeed; afterwards the same writes succeed once', async () => {
  const { id: projectId } = await make(ada, '/projects', { name: 'Engine' })
  const path = `/projects/${projectId}`
  const operations = [{ op: 'task.create', title: 'Batch' }]
  const csv = { 'content-type': 'text/plain' }
  const writes: [status: number, method: string, path: string, body: unknown, headers?: object][] = [
    [201, 'POST', '/tasks', { projectId, title: 'Keyed' }],
    [200, 'POST', `${path}/batch`, { operations }],
    [200, 'PATCH', '/auth/me', { name: 'Ada King' }],
    [202, 'POST', `${path}/imports?source=csv`, 'title\nCast\n', csv],
  ]
  const signUp = () =>
    register(client).then(
      () => 201,
      (error: Error) => Number(error.message.slice(-3)),
    )
  const send = ([, method, to, body, headers]: (typeof writes)[number], n: number) =>
    ada.call(method, to, body, { ...headers, 'idempotency-key': `key ${n}` }).then(({ status }) => status)
  const found = async () => [await signUp(), ...(await Promise.all(writes.map(send)))]
  // Postgres reports this error if a statement needs another page of a table.
  await sql`create function extend() returns trigger language plpgsql as
    $$ begin raise exception 'could not extend file: No space left on device' using errcode = 'disk_full'; end $$`
  for (const table of ['events', 'users', 'import_chunks'])
    await sql`create trigger full_disk before insert or update on ${sql(table)} for each row execute function extend()`
  expect(await found()).toEqual(Array(5).fill(503))
  for (const read of ['/projects', `${path}/events`, '/auth/me', `/tasks?projectId=${projectId}`])
    expect((await ada.get(read)).status).toBe(200)
  await sql`drop function extend cascade`
  for (let n = 0; n < 2; n++) expect(await found()).toEqual([201, ...writes.map(([status]) => status)])
  const { body } = await ada.get(`/tasks?projectId=${projectId}`)
  expect(body.map(({ title }) => title).sort()).toEqual(['Batch', 'Keyed'])
  expect(await faultsOf(sql)).toEqual([])
})
