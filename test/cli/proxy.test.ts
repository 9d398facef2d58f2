import { proxyOf } from '../../clients/cli/src/service/proxy.ts'
import { forFile, make, newFolder, openWebProcess, words } from '../kit.ts'
import { openForwardProxy } from './forward-proxy.ts'
import { bundled, execute } from './process.ts'

const [{ ada, web }, file, HOME] = await Promise.all([forFile(openWebProcess()), bundled(), newFolder()])
const { id } = await make(ada, '/projects', { name: 'Engine' })
const session = { HOME, DOCKET_TOKEN: ada.token!, DOCKET_PROJECT: id }
const openProxy = (status?: string) => forFile(openForwardProxy(web.url, status))
const docket = (env: Record<string, string>, line: string[], input?: string) =>
  execute(['node', file, ...line], { env: { ...session, ...env }, input })

test('chooses the proxy by the variables, as curl does', () => {
  const [http, https] = ['http://docket.example.com', 'https://docket.example.com']
  const chosen = (url: string, env: Record<string, string>) => proxyOf(url, env)?.href
  expect(chosen(http, {})).toBeUndefined()
  expect(chosen(http, { HTTP_PROXY: 'http://proxy:3128' })).toBe('http://proxy:3128/')
  expect(chosen(http, { HTTP_PROXY: 'proxy:3128' })).toBe('http://proxy:3128/')
  expect(chosen(http, { http_proxy: 'http://one', HTTP_PROXY: 'http://other' })).toBe('http://one/')
  expect(chosen(http, { HTTP_PROXY: ' ', ALL_PROXY: 'http://all' })).toBe('http://all/')
  expect(chosen(https, { HTTP_PROXY: 'http://proxy' })).toBeUndefined()
  expect(chosen(https, { HTTPS_PROXY: 'http://proxy' })).toBe('http://proxy/')
  for (const invalid of ['socks5://proxy', 'http://', 'ftp://secret@proxy'])
    expect(() => chosen(https, { HTTPS_PROXY: invalid })).toThrow(
      'HTTPS_PROXY must be a URL starting with http:// or https://',
    )
})

test('loopback and hosts of NO_PROXY have no proxy', () => {
  const ALL_PROXY = 'http://proxy'
  const isProxied = (url: string, NO_PROXY = '') => proxyOf(url, { ALL_PROXY, NO_PROXY }) !== undefined
  const loopback = words(
    'localhost localhost:3000 127.0.0.1 127.8.9.1:80 [::1]:3000 [::ffff:127.0.0.1] LOCALHOST a.localhost',
  )
  for (const host of loopback) expect([host, isProxied(`http://${host}/`)]).toEqual([host, false])
  for (const host of words('localhost.example.com 128.0.0.1 [::2] notlocalhost 127.example.com'))
    expect([host, isProxied(`http://${host}/`)]).toEqual([host, true])
  const excluded = {
    'a.example.com': words(
      '* example.com .example.com *.example.com A.EXAMPLE.COM x.org,example.com a.example.com:80',
    ),
    '10.1.2.3': words('10.1.2.3 10.0.0.0/8 *'),
    '[2001:db8::1]': words('2001:db8::/32 [2001:db8::1] [2001:db8::1]:80'),
  }
  for (const [host, lists] of Object.entries(excluded))
    for (const list of lists)
      expect([host, list, isProxied(`http://${host}/`, list)]).toEqual([host, list, false])
  for (const list of words('ample.com b.example.com a.example.com:8080 , 10.0.0.0/8 com.example'))
    expect([list, isProxied('http://a.example.com/', list)]).toEqual([list, true])
  for (const list of words('10.1.2.4 11.0.0.0/8 1.2.3 10.0.0.0/99'))
    expect([list, isProxied('http://10.1.2.3/', list)]).toEqual([list, true])
})

test('on Node, requests for http go through HTTP_PROXY, also uploads and streams', async () => {
  const proxy = await openProxy()
  const env = { DOCKET_URL: 'http://docket.test', HTTP_PROXY: proxy.url.replace('//', '//ada:p%40ss@') }
  expect(await docket(env, ['add', 'Draw'])).toMatchObject({ code: 0, err: '' })
  const secret = Buffer.from('ada:p@ss').toString('base64')
  expect(proxy.requests).toContain(`POST http://docket.test/api/v1/tasks Basic ${secret}`)
  expect(await docket(env, ['tasks'])).toMatchObject({ code: 0, out: expect.stringContaining('Draw') })
  expect(await docket(env, ['tail', '--after', '0', '--limit', '1'])).toMatchObject({ code: 0, err: '' })
  const input = `title\n${'Cast the frame\n'.repeat(20_000)}`
  const started = await docket(env, ['import', '-', '--source', 'csv', '--no-wait'], input)
  expect([started.code, started.err]).toEqual([0, expect.any(String)])
  expect(await docket(env, ['export'])).toMatchObject({ code: 0, out: expect.stringMatching(/^\{"docket"/) })
})

test('on Node, requests for https go through a tunnel of HTTPS_PROXY', async () => {
  const proxy = await openProxy()
  const trusting = { NODE_TLS_REJECT_UNAUTHORIZED: '0', NODE_NO_WARNINGS: '1' }
  const env = { ...trusting, DOCKET_URL: 'https://docket.test', HTTPS_PROXY: proxy.host }
  expect(await docket(env, ['add', 'Oil'])).toMatchObject({ code: 0, err: '' })
  expect(proxy.requests).toEqual(proxy.requests.map(() => 'CONNECT docket.test:443'))
  expect(proxy.requests.length).toBeGreaterThan(0)
})

test('a proxy that rejects the connection is named', async () => {
  const proxy = await openProxy('407 Proxy Authentication Required')
  const env = { DOCKET_URL: 'https://docket.test', HTTPS_PROXY: proxy.url }
  expect(await docket(env, ['tasks'])).toMatchObject({
    code: 1,
    err: `docket: The proxy ${proxy.host} answers 407 to CONNECT docket.test:443\n`,
  })
  const wrong = await docket({ ...env, HTTPS_PROXY: 'socks5://127.0.0.1:1' }, ['tasks'])
  expect(wrong).toMatchObject({ code: 1, err: expect.stringContaining('HTTPS_PROXY must be a URL') })
})

test('requests for loopback never go through a proxy', async () => {
  const env = { HTTP_PROXY: 'http://127.0.0.1:1', ALL_PROXY: 'http://127.0.0.1:1', DOCKET_URL: web.url }
  expect(await docket(env, ['tasks'])).toMatchObject({ code: 0, err: '' })
  const all = { ...session, ...env }
  const onBun = await execute([process.execPath, file, 'tasks'], { env: all })
  expect(onBun).toMatchObject({ code: 0, err: '' })
})

test('on Bun, requests go through HTTP_PROXY', async () => {
  const proxy = await openProxy()
  const env = { ...session, DOCKET_URL: 'http://docket.test', HTTP_PROXY: proxy.url }
  expect(await execute([process.execPath, file, 'tasks'], { env })).toMatchObject({ code: 0, err: '' })
  expect(proxy.requests.length).toBeGreaterThan(0)
})
