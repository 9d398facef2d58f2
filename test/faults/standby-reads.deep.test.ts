import { eventually, forFile, freePort, make, type Person, runBatch, spawnService, upTo } from '../kit.ts'
import { scrape } from '../metrics/scrape.ts'
import { openTlsProxy } from '../support/tls-proxy.ts'
import { createProject, openStandbyScene } from './standby-scene.ts'

const scene = await openStandbyScene()
const { ada, plain, reference, replicas, service, caughtUp, counts, health } = scene

/** Times of exports differ between two requests. */
const bodyOf = async (user: Person, path: string) => {
  const { status, text, headers } = await user.get(path)
  const body = text.replace(/"exportedAt":"[^"]*"/, '')
  return { path, status, version: headers.get('docket-version'), body }
}

const expectSame = async (path: string) =>
  expect(await bodyOf(ada, path)).toEqual(await bodyOf(reference, path))

const untilStates = (...states: string[]) =>
  eventually(`the states ${states.join()}`, async () => String((await health()).standbys) === String(states))

async function increaseOf(work: () => Promise<unknown>) {
  const before = counts()
  await work()
  const after = counts()
  return Object.fromEntries(
    Object.entries(after).map(([name, value]) => [name, value - before[name as 'failed']]),
  )
}

/** On a busy machine, a standby may exceed its time. */
const expectServed = (path: string) =>
  eventually(`an answer of a standby for ${path}`, async () => {
    const { standby } = await increaseOf(() => expectSame(path))
    return standby! > 0
  })

test('every page that a standby may serve equals the page of the primary', async () => {
  const { current, pastAt } = await createProject(ada)
  await bodyOf(reference, current.at(-1)!)
  await caughtUp()
  await untilStates('ok', 'ok')
  for (const path of [...current, ...pastAt(6)]) await expectServed(path)
})

test('lists of several projects, filters by time and token checks use the primary', async () => {
  const { projectId } = await createProject(ada)
  await caughtUp()
  for (const path of [
    '/tasks',
    '/projects',
    `/tasks?projectId=${projectId}&ready=true`,
    '/search?q=oil',
    '/tokens',
  ]) {
    const { standby, behind, failed } = await increaseOf(() => expectSame(path))
    expect([path, standby, behind, failed]).toEqual([path, 0, 0, 0])
  }
})

test('no page is stale while both standbys are paused, and immutable pages still use them', async () => {
  const { projectId, taskId, current, pastAt } = await createProject(ada)
  await caughtUp()
  for (const path of pastAt(6)) await expectSame(path)
  await Promise.all(replicas.map((one) => one.pause()))
  await make(ada, '/tasks', { projectId, title: 'Wheel of brass' })
  await make(ada, `/tasks/${taskId}/comments`, { text: 'Or iron' })
  await ada.patch(`/tasks/${taskId}`, { title: 'Oil all wheels', status: 'DONE' })
  const lagging = await increaseOf(async () => {
    for (const path of current) await expectSame(path)
  })
  expect(lagging.behind! > 0).toBe(true)
  expect(lagging.standby).toBe(0)
  for (const path of pastAt(5)) await expectServed(path)
  await untilStates('behind', 'behind')
  expect((await health()).status).toBe('ok')
  await Promise.all(replicas.map((one) => one.resume()))
  await untilStates('ok', 'ok')
  await expectServed(current[1]!)
})

test('no standby is ahead of a primary whose clock was set back', async () => {
  const [standby] = service.services.standbys!.all
  await standby!.probe({ lsn: 'FFFF/0', time: new Date(Date.now() - 3_600_000).toISOString() })
  expect(standby!.lagSeconds).toBeGreaterThanOrEqual(0)
})

test('a changed name is visible at once, also in pages of an unchanged project', async () => {
  const { current } = await createProject(ada)
  await caughtUp()
  await untilStates('ok', 'ok')
  await Promise.all(replicas.map((one) => one.pause()))
  expect((await ada.patch('/auth/me', { name: 'Countess' })).status).toBe(200)
  const { behind } = await increaseOf(async () => {
    for (const path of current.filter((one) => /comments|history|events|members|projects\/[^/]+$/.test(one)))
      await expectSame(path)
  })
  expect(behind).toBeGreaterThan(0)
  await Promise.all(replicas.map((one) => one.resume()))
  await untilStates('ok', 'ok')
})

test('a list that waits for a search of indexed documents never misses a task', async () => {
  const { projectId } = await createProject(ada)
  await caughtUp()
  for (let n = 0; n < 20; n++) {
    const { id } = await make(ada, '/tasks', { projectId, title: `Gear ${n}` })
    for (const path of ['/search', '/tasks'])
      expect((await ada.get(`${path}?projectId=${projectId}&q=gear`)).text).toContain(id)
  }
})

test('a read after a write of the same client shows the write', async () => {
  const { projectId, taskId } = await createProject(ada)
  await caughtUp()
  for (let n = 0; n < 200; n++) {
    const title = `Title ${n}`
    await ada.patch(`/tasks/${taskId}`, { title })
    const path = n % 2 ? `/tasks/${taskId}` : `/tasks?projectId=${projectId}&limit=1`
    expect((await ada.get(path)).text).toContain(`"title":"${title}"`)
  }
  expect(service.services.standbys!.all.map(({ state }) => state)).not.toContain('away')
})

/** A web process that reads one standby over TLS. */
const [overTls] = replicas as [(typeof replicas)[0]]
const front = await forFile(openTlsProxy(overTls.url))
const port = await freePort()
const DATABASE_STANDBY_URLS = front.url('require')
const own = { DATABASE_STANDBY_URLS, BODY_CACHE_BYTES: '0', METRICS_PORT: String(port) }
const web = await forFile(spawnService('web', { ...plain.env, ...own }))
const reader = ada.at(web.url)
const { id: projectId } = await make(ada, '/projects', { name: 'Engine' })

const { host } = new URL(DATABASE_STANDBY_URLS)
const servedByStandby = async (): Promise<number> =>
  (await scrape(port)).of(`docket_standby_reads_total{standby="${host}",outcome="standby"}`) ?? 0

test('a standby is read over TLS', async () => {
  await make(ada, '/tasks', { projectId, title: 'Oil' })
  await caughtUp()
  await eventually('an answer of the standby', async () => {
    const { body } = await reader.get(`/tasks?projectId=${projectId}`)
    expect(body).toMatchObject([{ title: 'Oil' }])
    return (await servedByStandby()) > 0
  })
})

test('an export whose standby ends the connection is closed before its end', async () => {
  const description = 'brass '.repeat(3_000)
  const create = { op: 'task.create', title: 'Wheel', description }
  for (const _ of upTo(40)) await runBatch(ada, projectId, Array(50).fill(create))
  await caughtUp()
  const path = `/api/v1/projects/${projectId}/export?format=ndjson`
  const headers = { authorization: `Bearer ${ada.token}` }
  const whole = await (await plain.fetch(path, { headers })).text()
  // A quick export is complete before its connection ends, and is tried again.
  await eventually('an export that breaks off', async () => {
    const before = await servedByStandby()
    const response = await fetch(web.url + path, { headers })
    const end = overTls.run(
      `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'docket'`,
    )
    const text = await response.text().catch(() => undefined)
    await end
    if (text !== undefined) expect(text).toHaveLength(whole.length)
    return text === undefined && (await servedByStandby()) > before
  })
  expect((await reader.get(`/tasks?projectId=${projectId}&limit=1`)).status).toBe(200)
})
