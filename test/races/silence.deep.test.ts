import { expect, test } from 'bun:test'
import { readConfig } from '../../src/config.ts'
import { openDatabase } from '../../src/postgres/database.ts'
import { make, openClient, register } from '../support/client.ts'
import { faultsOf } from '../support/history.ts'
import { forFile, freshEnv, spawnService } from '../support/service.ts'
import { account, type Load, misnumbered, startLoad } from './load.ts'
import { upTo } from './pair.ts'
import { openSilentLine } from './silent-line.ts'

const readMs = 4_000
const writeMs = 6_000
// A request that waited for a silent line would wait for minutes, longer than a test may take.
const limits = {
  READ_TIMEOUT_MS: String(readMs),
  WRITE_TIMEOUT_MS: String(writeMs),
  COMMIT_TIMEOUT_MS: '1500',
  CHORE_TIMEOUT_MS: '1500',
  DRAIN_TIMEOUT_MS: '3000',
}
const fresh = await forFile(freshEnv(limits))
const direct = await forFile(openDatabase(readConfig(fresh.env)))
const line = await forFile(openSilentLine(fresh.env.DATABASE_URL!))
const web = await forFile(spawnService('web', { ...fresh.env, DATABASE_URL: line.url }))
const ada = await register(openClient(web.url))
const projectIds: string[] = (
  await Promise.all(upTo(4).map((n) => make(ada, '/projects', { name: `${n}` })))
).map(({ id }) => id)

async function isTrue(load: Load): Promise<void> {
  const { lost, doubled, writes, reads } = await account(direct.reads, load)
  expect({ lost, doubled }).toEqual({ lost: [], doubled: [] })
  for (const status of [...Object.keys(writes), ...Object.keys(reads)])
    expect(['200', '201', '503']).toContain(status)
  expect(await misnumbered(direct.reads)).toHaveLength(0)
  expect(await faultsOf(direct.reads)).toEqual([])
}

const signIn = () => openClient(web.url).post('/auth/login', { email: ada.email, password: 'secret-1' })

for (const time of ['once', 'again'])
  test(`connections that go silent are replaced, and everybody is answered in time, ${time}`, async () => {
    const load = startLoad({ clients: [ada], projectIds })
    await load.acknowledged(100)
    line.silenceOpen()
    const [signedIn] = await Promise.all([signIn(), load.acknowledged(200)])
    await load.stop()
    expect(signedIn.status).toBe(200)
    await isTrue(load)
    // What is safe to repeat was repeated.
    expect(load.reads.filter((status) => status !== 200)).toEqual([])
  })

test('while all is silent everybody is answered in time, and after it at once as ever', async () => {
  const load = startLoad({ clients: [ada], projectIds })
  await load.acknowledged(100)
  line.silence()
  const reading = ada.get('/projects').then(() => 'a read')
  const ready = fetch(`${web.url}/health/ready`)
  expect(await Promise.race([reading, ready.then(({ status }) => status)])).toBe(503)
  await Bun.sleep(2 * writeMs)
  expect((await ada.get('/projects')).status).toBe(503)
  line.speak()
  await load.acknowledged(200)
  await load.stop()
  expect((await signIn()).status).toBe(200)
  await isTrue(load)
})

test('a process stops in time though nothing answers', async () => {
  line.silence()
  expect(await web.stop()).toBe(0)
})
