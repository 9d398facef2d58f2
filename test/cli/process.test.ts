import { readdir } from 'node:fs/promises'
import { forFile, make, newFolder, openTcpProxyTo, openWebProcess } from '../kit.ts'
import { bundled, execute, start } from './process.ts'

const [{ ada, web }, file, HOME] = await Promise.all([forFile(openWebProcess()), bundled(), newFolder()])
const { id } = await make(ada, '/projects', { name: 'Engine' })
const env = { HOME, DOCKET_URL: web.url, DOCKET_TOKEN: ada.token!, DOCKET_PROJECT: id }
const docket = (...line: string[]) => ['node', file, ...line]

test('the bundle runs on Node, writes no escape sequences to a pipe, and ends at once', async () => {
  const added = await execute(docket('add', 'Draw'), { env })
  expect(added).toMatchObject({ code: 0, err: '', out: expect.stringMatching(/^Added #1 Draw/) })
  const { code, out, err } = await execute(docket('tasks'), { env })
  expect([code, out, err]).toEqual([0, '#  STATUS  PRIORITY  TITLE\n1  TODO    MEDIUM    Draw\n', ''])
  const wrong = await execute(docket('done', '9'), { env })
  expect(wrong).toMatchObject({ code: 3, out: '', err: 'docket: The project has no task #9\n' })
})

test('a reader that stops early causes no error', async () => {
  const operations = Array.from({ length: 300 }, () => ({ op: 'task.create', title: 'x'.repeat(400) }))
  await execute(docket('batch'), { env, input: JSON.stringify(operations) })
  const line = `{ node '${file}' tasks --json; echo "exit $?" >&2; } | head -c 10`
  expect(await execute(['sh', '-c', line], { env })).toMatchObject({ code: 0, err: 'exit 0\n' })
})

test('Ctrl-C ends tail quietly', async () => {
  const tail = await forFile(start(docket('tail', '--after', '0', '--json'), { env }))
  while (!tail.out().includes('"seq":2')) await Bun.sleep(10)
  tail.child.kill('SIGINT')
  expect(await tail.ended).toMatchObject({ code: 130, err: '' })
})

test('SIGTERM also ends the command of claim-next --exec', async () => {
  const line = docket('claim-next', '--exec', 'echo started; sleep 60; echo never')
  const worker = await forFile(start(line, { env }))
  while (!worker.out().includes('started')) await Bun.sleep(10)
  worker.child.kill('SIGTERM')
  expect(await worker.ended).toMatchObject({ code: 143, out: 'started\n', err: '' })
  expect((await ada.get(`/tasks?projectId=${id}&claimedBy=me`)).body).toEqual([] as never)
})

test('Ctrl-C ends only the wait for an import', async () => {
  let isWaiting = false
  const proxy = await forFile(
    openTcpProxyTo(web.url, {
      intercept(chunk) {
        isWaiting ||= chunk.includes('GET /api/v1/imports/')
        return false
      },
    }),
  )
  const [proxied, input] = [{ ...env, DOCKET_URL: proxy.url }, 'title\nCast the frame\n']
  // There is no worker, so the import stays in the queue.
  const waiting = await forFile(start(docket('import', '-', '--source', 'csv'), { env: proxied, input }))
  while (!isWaiting) await Bun.sleep(10)
  waiting.child.kill('SIGINT')
  const { code, out, err } = await waiting.ended
  const [, importId = ''] = /The import continues: docket imports (\S+) --wait/.exec(err) ?? []
  expect([code, out, importId]).toEqual([130, '', expect.stringMatching(/^[\w-]{36}$/)])
  expect((await ada.get(`/imports/${importId}`)).body).toMatchObject({ state: 'queued' })
  expect(await execute(docket('imports', importId, '--cancel'), { env })).toMatchObject({
    ...{ code: 0, out: '', err: expect.stringContaining(`Import ${importId} cancelled: 0 created`) },
  })
})

test('a connection that is cut during an export leaves no file', async () => {
  const proxy = await forFile(
    openTcpProxyTo(web.url, {
      intercept(chunk, to, { client }) {
        const isFile = to === client && /^content-disposition:/im.test(chunk.toString('latin1'))
        // Forwards the header without the body.
        if (isFile) client.end(chunk.subarray(0, chunk.indexOf('\r\n\r\n') + 4))
        return isFile
      },
    }),
  )
  const cwd = await newFolder()
  const cut = await execute(docket('export', '-o', 'engine.docket'), {
    env: { ...env, DOCKET_URL: proxy.url },
    cwd,
  })
  expect(cut).toMatchObject({ code: 6, out: '' })
  expect(await readdir(cwd)).toEqual([])
  const whole = await execute(docket('export', '-o', 'engine.docket'), { env, cwd })
  expect([whole.code, await readdir(cwd)]).toEqual([0, ['engine.docket']])
})
