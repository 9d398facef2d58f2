import { forFile, freshEnv, makeProjects, openClient, openWebs } from '../kit.ts'
import { expectAllStored, startLoad } from './load.ts'
import { openSilentLine } from './silent-line.ts'

const readMs = 6_000
const writeMs = 9_000
// Without these timeouts, a request on a silent connection would wait for minutes.
const limits = {
  READ_TIMEOUT_MS: String(readMs),
  WRITE_TIMEOUT_MS: String(writeMs),
  COMMIT_TIMEOUT_MS: '1500',
  BACKGROUND_TIMEOUT_MS: '1500',
  DRAIN_TIMEOUT_MS: '3000',
}
const { env } = await forFile(freshEnv(limits))
const line = await forFile(openSilentLine(env.DATABASE_URL!))
const { webs, people, sql } = await openWebs([{ DATABASE_URL: line.url }], env)
const [web, ada] = [webs[0]!, people[0]!]
const projectIds = await makeProjects(ada, 4)

const signIn = () => openClient(web.url).post('/auth/login', { email: ada.email, password: 'secret-1' })

for (const time of ['first', 'second'])
  test(`silent connections are replaced, and every request gets a response in time (${time})`, async () => {
    const load = startLoad({ clients: [ada], projectIds })
    await load.acknowledged(100)
    line.silenceOpen()
    const [signedIn] = await Promise.all([signIn(), load.acknowledged(200)])
    expect(signedIn.status).toBe(200)
    await expectAllStored(sql, load, [503])
    expect(load.reads.filter((status) => status !== 200)).toEqual([])
  })

test('while the database is silent every request gets 503 in time, and afterwards requests succeed again', async () => {
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
  expect((await signIn()).status).toBe(200)
  await expectAllStored(sql, load, [503])
})

test('a process stops in time while its database is silent', async () => {
  line.silence()
  expect(await web.stop()).toBe(0)
})
