import { faultsOf, forFile, freshEnv, makeProjects, openClient, openWebs, upTo } from '../kit.ts'
import { openSilentLine } from './silent-line.ts'

// Without these timeouts, a request on a silent connection would wait for minutes.
const limits = {
  ...{ READ_TIMEOUT_MS: '6000', WRITE_TIMEOUT_MS: '9000', COMMIT_TIMEOUT_MS: '1500' },
  ...{ BACKGROUND_TIMEOUT_MS: '1500', DRAIN_TIMEOUT_MS: '3000' },
}
const { env } = await forFile(freshEnv(limits))
const line = await forFile(openSilentLine(env.DATABASE_URL!))
const { webs, people, sql } = await openWebs([{ DATABASE_URL: line.url }], env)
const [web, ada] = [webs[0]!, people[0]!]

test('silent connections are replaced, and every request gets a response in time', async () => {
  const projects = await makeProjects(ada, 4)
  const signIn = () => openClient(web.url).post('/auth/login', { email: ada.email, password: 'secret-1' })
  const create = (n: number) => ada.post('/tasks', { title: `T${n}`, projectId: projects[n % 4] })
  for (const round of upTo(2)) {
    line.silenceOpen()
    const reads = [...projects.map((id) => ada.get(`/projects/${id}`)), signIn()]
    for (const { status } of await Promise.all(reads)) expect([round, status]).toEqual([round, 200])
    for (const { status } of await Promise.all(upTo(20).map(create))) expect([201, 503]).toContain(status)
    expect((await create(0)).status).toBe(201)
  }
  expect(await faultsOf(sql)).toEqual([])
})

test('while the database is silent, requests get 503 and the process is not ready, and it stops in time', async () => {
  line.silence()
  const ready = fetch(`${web.url}/health/ready`)
  expect([(await ready).status, (await ada.get('/projects')).status]).toEqual([503, 503])
  expect(await web.stop()).toBe(0)
})
