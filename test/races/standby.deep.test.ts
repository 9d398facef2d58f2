import postgres from 'postgres'
import { faultsOf, forFile, make, openScene, register, statuses, terminateConnections, upTo } from '../kit.ts'

const { service, ada } = await openScene(['Ada'], {})
const admin: postgres.Sql = await forFile(postgres(service.env.DATABASE_URL!, { max: 1, onnotice: () => {} }))

const readOnly = (value: 'on' | 'off') =>
  admin.unsafe(`do $$ begin execute format('alter database %I set default_transaction_read_only = ${value}',
    current_database()); end $$`)

test('writes on a read-only server wait until new connections reach a writable server', async () => {
  const { id: projectId } = await make(ada, '/projects', { name: 'Moved' })
  await readOnly('on')
  await terminateConnections(admin)
  const writes = upTo(20).map((n) => ada.post('/tasks', { projectId, title: `${n}` }))
  const rejected = await service.client.post('/auth/register', {
    name: 'Eve',
    email: 'eve@example.com',
    password: 'secret-1',
  })
  expect({ status: rejected.status, after: rejected.headers.get('retry-after') }).toEqual({
    status: 503,
    after: '1',
  })
  expect((await ada.get(`/projects/${projectId}`)).status).toBe(200)
  await readOnly('off')
  expect(statuses(await Promise.all(writes))).toEqual({ 201: 20 })
  expect((await register(service.client)).id).toBeString()
  expect(await faultsOf(service.services.database.reads)).toEqual([])
})
