import { eventually, forFile, freePort, make, runBatch, spawnService, upTo } from '../kit.ts'
import { scrape } from '../metrics/scrape.ts'
import { openTlsProxy } from '../support/tls-proxy.ts'
import { openStandbyScene } from './standby-scene.ts'

const { ada, plain, replicas, caughtUp } = await openStandbyScene()
const [{ url, run }] = replicas as [(typeof replicas)[0]]
const front = await forFile(openTlsProxy(url))
const port = await freePort()
const DATABASE_STANDBY_URLS = front.url('require')
const env = { ...plain.env, DATABASE_STANDBY_URLS, BODY_CACHE_BYTES: '0', METRICS_PORT: String(port) }
const web = await forFile(spawnService('web', env))
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
    const end = run(
      `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'docket'`,
    )
    const text = await response.text().catch(() => undefined)
    await end
    if (text !== undefined) expect(text).toHaveLength(whole.length)
    return text === undefined && (await servedByStandby()) > before
  })
  expect((await reader.get(`/tasks?projectId=${projectId}&limit=1`)).status).toBe(200)
})
