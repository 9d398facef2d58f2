import { execFileSync } from 'node:child_process'
import { connect } from 'node:net'
import { make, openStream, openWebProcess, requestHead, type ServiceProcess, takeEvents } from '../kit.ts'

const mebibytesOf = ({ pid }: ServiceProcess) =>
  Number(execFileSync('ps', ['-o', 'rss=', '-p', String(pid)])) / 1_024

test('streams whose clients do not read need a limited amount of memory, and end with 503 when the process stops', async () => {
  const own = await openWebProcess({})
  const { web, ada: bea } = own
  const { id: projectId } = await make(bea, '/projects', { name: 'Engine' })
  const task = await make(bea, '/tasks', { title: 'Talk', projectId })
  // 22 MB of events; the kernel buffers about 10 MB for a connection that is not read.
  const operations = Array(15).fill({ op: 'comment.create', taskId: task.id, text: '語'.repeat(20_000) })
  for (let i = 0; i < 25; i++)
    expect((await bea.post(`/projects/${projectId}/batch`, { operations })).status).toBe(200)
  // The type filter matters: unfiltered events are encoded once for all streams.
  const path = (after: number) => `/api/v1/projects/${projectId}/events?after=${after}&types=comment.created`
  const sockets = Array.from({ length: 20 }, (_, after) => {
    const socket = connect(Number(new URL(web.url).port), '127.0.0.1')
    socket.pause()
    socket.on('error', () => {})
    const headers = {
      Authorization: `Bearer ${bea.token}`,
      Accept: 'text/event-stream',
      Connection: 'keep-alive',
    }
    socket.write(requestHead('GET', path(after), headers))
    return socket
  })
  const before = mebibytesOf(web)
  const live = await openStream(bea, web, `/projects/${projectId}/events?after=0`)
  expect(await takeEvents(live.messages, 377)).toHaveLength(377)
  // Measured: 30 to 70 MiB. A service that buffers all events would need 450 MiB.
  expect(mebibytesOf(web) - before).toBeLessThan(300)
  const ended = takeEvents(live.messages, 9)
  const stopped = web.stop()
  expect(await ended).toMatchObject([{ event: 'end', data: { statusCode: 503 } }])
  for (const socket of sockets) socket.destroy()
  expect(await stopped).toBe(0)
})
