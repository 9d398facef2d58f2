import { proxyOf } from '../../clients/cli/src/service/proxy.ts'
import { forFile, make, newFolder, openWebProcess, words } from '../kit.ts'
import { openForwardProxy } from './forward-proxy.ts'
import { bundled, execute, start } from './process.ts'

const [{ ada, web }, file, HOME] = await Promise.all([forFile(openWebProcess()), bundled(), newFolder()])
const { id } = await make(ada, '/projects', { name: 'Engine' })
const env = { HOME, DOCKET_URL: web.url, DOCKET_TOKEN: ada.token!, DOCKET_PROJECT: id }
const lineOf = (line: string) => ['node', file, ...words(line)]
const docket = (line: string, over: Record<string, string> = {}, input = '') =>
  execute(lineOf(line), { env: { ...env, ...over }, input })

test('the bundle runs on Node, writes no escape sequences to a pipe, and ends at once', async () => {
  const added = await docket('add Draw')
  expect(added).toMatchObject({ code: 0, err: '', out: expect.stringMatching(/^Added #1 Draw/) })
  const out = '#  STATUS  PRIORITY  TITLE\n1  TODO    MEDIUM    Draw\n'
  expect(await docket('tasks')).toMatchObject({ code: 0, out, err: '' })
  const err = 'docket: The project has no task #9\n'
  expect(await docket('done 9')).toMatchObject({ code: 3, out: '', err })
})

test('a reader that stops early causes no error', async () => {
  const operations = Array.from({ length: 300 }, () => ({ op: 'task.create', title: 'x'.repeat(400) }))
  await docket('batch', {}, JSON.stringify(operations))
  const line = `{ node '${file}' tasks --json; echo "exit $?" >&2; } | head -c 10`
  expect(await execute(['sh', '-c', line], { env })).toMatchObject({ code: 0, err: 'exit 0\n' })
})

test('Ctrl-C ends tail quietly; SIGTERM also ends the command of claim-next --exec', async () => {
  const exec = [...lineOf('claim-next --exec'), 'echo "seq":2; sleep 60; echo never']
  for (const [line, signal, code] of [
    [lineOf('tail --after 0 --json'), 'SIGINT', 130],
    [exec, 'SIGTERM', 143],
  ] as const) {
    const running = await forFile(start([...line], { env }))
    while (!/"?seq"?:2/.test(running.out())) await Bun.sleep(10)
    running.child.kill(signal)
    const ended = await running.ended
    expect(ended).toMatchObject({ code, err: '', out: expect.not.stringContaining('never') })
  }
  expect((await ada.get(`/tasks?projectId=${id}&claimedBy=me`)).body).toEqual([] as never)
})

const [http, https] = ['http://docket.example.com', 'https://docket.example.com']
test.each<[url: string, env: Record<string, string>, proxy: string | undefined]>([
  [http, {}, undefined],
  [http, { HTTP_PROXY: 'http://proxy:3128' }, 'http://proxy:3128/'],
  [http, { HTTP_PROXY: 'proxy:3128' }, 'http://proxy:3128/'],
  [http, { http_proxy: 'http://one', HTTP_PROXY: 'http://other' }, 'http://one/'],
  [http, { HTTP_PROXY: ' ', ALL_PROXY: 'http://all' }, 'http://all/'],
  [https, { HTTP_PROXY: 'http://proxy' }, undefined],
  [https, { HTTPS_PROXY: 'http://proxy' }, 'http://proxy/'],
])('chooses the proxy by the variables, as curl does: %s %j', (url, env, proxy) => {
  expect(proxyOf(url, env)?.href).toBe(proxy)
  for (const HTTPS_PROXY of words('socks5://proxy http:// ftp://secret@proxy')) {
    const message = 'HTTPS_PROXY must be a URL starting with http:// or https://'
    expect(() => proxyOf(https, { HTTPS_PROXY })).toThrow(message)
  }
})

const loopback =
  'localhost localhost:3000 127.0.0.1 127.8.9.1:80 [::1]:3000 [::ffff:127.0.0.1] LOCALHOST a.localhost'
const inDomain = '* example.com .example.com *.example.com A.EXAMPLE.COM x.org,example.com a.example.com:80'
const elsewhere = 'ample.com b.example.com a.example.com:8080 , 10.0.0.0/8 com.example'
test.each([
  [loopback, '-', false],
  ['localhost.example.com 128.0.0.1 [::2] notlocalhost 127.example.com', '-', true],
  ['a.example.com', inDomain, false],
  ['a.example.com', elsewhere, true],
  ['10.1.2.3', '10.1.2.3 10.0.0.0/8 *', false],
  ['10.1.2.3', '10.1.2.4 11.0.0.0/8 1.2.3 10.0.0.0/99', true],
  ['[2001:db8::1]', '2001:db8::/32 [2001:db8::1] [2001:db8::1]:80', false],
])('requests for %s have a proxy with NO_PROXY=%s: %p', (hosts, lists, isProxied) => {
  for (const host of words(hosts))
    for (const NO_PROXY of words(lists)) {
      const proxy = proxyOf(`http://${host}/`, { ALL_PROXY: 'http://proxy', NO_PROXY })
      expect([host, NO_PROXY, proxy !== undefined]).toEqual([host, NO_PROXY, isProxied])
    }
})

const openProxy = (status?: string) => forFile(openForwardProxy(web.url, status))
const named = 'http://docket.test'

test('on Node, requests for http go through HTTP_PROXY, also uploads and streams', async () => {
  const proxy = await openProxy()
  const over = { DOCKET_URL: named, HTTP_PROXY: proxy.url.replace('//', '//ada:p%40ss@') }
  const input = `title\n${'Cast the frame\n'.repeat(20_000)}`
  for (const line of ['add Draw', 'tail --after 0 --limit 1', 'import - --source csv --no-wait', 'export'])
    expect([line, (await docket(line, over, input)).code]).toEqual([line, 0])
  const secret = Buffer.from('ada:p@ss').toString('base64')
  expect(proxy.requests).toContain(`POST ${named}/api/v1/tasks Basic ${secret}`)
  expect(proxy.requests.length).toBeGreaterThanOrEqual(4)
})

test('on Node, requests for https go through a tunnel of HTTPS_PROXY, and a proxy that rejects is named', async () => {
  const [proxy, closed] = [await openProxy(), await openProxy('407 Proxy Authentication Required')]
  const trusting = { NODE_TLS_REJECT_UNAUTHORIZED: '0', NODE_NO_WARNINGS: '1' }
  const over = { ...trusting, DOCKET_URL: 'https://docket.test', HTTPS_PROXY: proxy.host }
  expect(await docket('add Oil', over)).toMatchObject({ code: 0, err: '' })
  expect(new Set(proxy.requests)).toEqual(new Set(['CONNECT docket.test:443']))
  const err = `docket: The proxy ${closed.host} answers 407 to CONNECT docket.test:443\n`
  expect(await docket('tasks', { ...over, HTTPS_PROXY: closed.url })).toMatchObject({ code: 1, err })
  const wrong = await docket('tasks', { ...over, HTTPS_PROXY: 'socks5://127.0.0.1:1' })
  expect(wrong).toMatchObject({ code: 1, err: expect.stringContaining('HTTPS_PROXY must be a URL') })
})
