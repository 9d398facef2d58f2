import { createServer } from 'node:http'
import { eventually, forFile, listen, make, openPair, openTestService } from '../kit.ts'

type Attributes = { key: string; value: { stringValue?: string; intValue?: number } }[]
interface Span {
  name: string
  traceId: string
  spanId: string
  parentSpanId?: string
  kind: number
  status: { code: number }
  attributes: Attributes
}
type Sent = { resourceSpans: { resource: { attributes: Attributes }; scopeSpans: { spans: Span[] }[] }[] }

const valueOf = ({ attributes }: { attributes: Attributes }, name: string) =>
  attributes.find(({ key }) => key === name)?.value

async function openCollector() {
  const spans: (Span & { service: string | undefined })[] = []
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const sent = request.url === '/v1/traces' && (JSON.parse(Buffer.concat(chunks).toString()) as Sent)
    for (const { resource, scopeSpans } of sent ? sent.resourceSpans : [])
      for (const span of scopeSpans.flatMap((one) => one.spans))
        spans.push({ ...span, service: valueOf(resource, 'service.name')?.stringValue })
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
  })
  return { spans, ...(await listen(server)) }
}

const collector = await forFile(openCollector())
const pair = await openPair({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, LOG_REQUESTS: 'on' })

const traceId = (n: number) => `${n}`.padStart(32, 'a')
const from = (n: number, flags = '01') => ({ traceparent: `00-${traceId(n)}-00f067aa0ba902b7-${flags}` })
const spansOf = (n: number) => collector.spans.filter((span) => span.traceId === traceId(n))

async function collected(n: number, count: number): Promise<Span[]> {
  await eventually(`${count} spans of trace ${n}`, () => spansOf(n).length >= count)
  return spansOf(n)
}

test('a request is a span of the caller’s trace', async () => {
  const { id: projectId } = await make(pair.atA, '/projects', { name: 'Traced' })
  for (const [n, who] of [pair.atA, pair.atB].entries()) {
    expect((await who.post('/tasks', { title: 'T', projectId }, from(n))).status).toBe(201)
    const [request] = await collected(n, 1)
    expect(request).toMatchObject({
      name: 'POST /api/v1/tasks',
      parentSpanId: '00f067aa0ba902b7',
      service: 'docket',
    })
    expect(valueOf(request!, 'http.response.status_code')).toEqual({ intValue: 201 })
    expect(valueOf(request!, 'http.route')).toEqual({ stringValue: '/api/v1/tasks' })
  }
})

test('the span of a rejected request has no error status; the span of an internal error has one', async () => {
  await pair.atA.get('/tasks/none', from(10))
  const [refused] = await collected(10, 1)
  expect([refused!.status.code, valueOf(refused!, 'http.response.status_code')]).toEqual([
    0,
    { intValue: 404 },
  ])
  await pair.sql`alter table projects rename to hidden`
  await pair.atA.get('/projects', from(11))
  await pair.sql`alter table hidden rename to projects`
  expect((await collected(11, 1))[0]!.status.code).toBe(2)
})

test('sends no span for an unsampled trace, and starts a trace for a request without a trace', async () => {
  const before = new Set(collector.spans.map((span) => span.traceId))
  await pair.atA.get('/tasks', from(20, '00'))
  await pair.atA.get('/auth/me')
  await eventually('a new trace', () => collector.spans.some((span) => !before.has(span.traceId)))
  const [begun] = collector.spans.filter((span) => !before.has(span.traceId))
  expect([begun!.name, begun!.parentSpanId]).toEqual(['GET /api/v1/auth/me', undefined])
  expect(spansOf(20)).toEqual([])
})

const parent = '00f067aa0ba902b7'
test.each([
  ...['', 'none', `00-${traceId(30)}-${parent}`, `00-${traceId(30).toUpperCase()}-${parent}-01`],
  ...[`00-${'0'.repeat(32)}-${parent}-01`, `00-${traceId(30)}-${'0'.repeat(16)}-01`],
  ...[`00-${traceId(30)}-${parent}-01-more`, `ff-${traceId(30)}-${parent}-01`],
])(
  'the log line of a request contains the trace id of a valid traceparent, but a new one for %p',
  async (invalid) => {
    const later = `cc-${traceId(30)}-${parent}-01-what-comes-later`
    const sent = [from(30), { traceparent: later }, { traceparent: invalid }, {}]
    const answers = await Promise.all(sent.map((headers) => pair.atA.get('/tasks', headers)))
    const ids = answers.map(({ headers }) => headers.get('x-request-id')!)
    const lineOf = (id: string) => pair.a.output.find((line) => line.includes(`"${id}"`))
    await eventually('the log lines', () => ids.every(lineOf))
    const [given, ofLater, ...begun] = ids.map((id) => JSON.parse(lineOf(id)!).trace_id)
    expect([given, ofLater]).toEqual([traceId(30), traceId(30)])
    for (const id of begun) expect([/^[0-9a-f]{32}$/.test(id), id === traceId(30)]).toEqual([true, false])
  },
)

test('an unreachable collector does not affect requests', async () => {
  collector.close()
  for (const n of [40, 41]) expect((await pair.atB.get('/tasks', from(n))).status).toBe(200)
  expect(await pair.b.stop()).toBe(0)
})

test('does not trace without a configured collector', async () => {
  const { services, client, close } = await openTestService({})
  expect(services.tracing).toBe(undefined)
  expect((await client.get('/tasks', from(50))).status).toBe(401)
  await close()
})
