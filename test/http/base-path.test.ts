import { forFile, freshEnv, make, openTestService, readConfig, register, words } from '../kit.ts'
import { mailOf } from '../../workers/mail/send-mail.ts'

const { env } = await forFile(freshEnv())
// Without the board, the root is a page with links.
const open = (more: Record<string, string>) => forFile(openTestService({ ...env, BOARD: 'off', ...more }))
const [fixed, proxied, direct] = [
  await open({ BASE_PATH: '/docket', CORS_ORIGINS: '*' }),
  await open({ BASE_PATH: '/fixed', TRUST_PROXY: 'on' }),
  await open({}),
]
const ada = await register(direct.client)
const { id: projectId } = await make(ada, '/projects', { name: 'Engine' })
for (const title of words('one two three')) await make(ada, '/tasks', { projectId, title })

type Service = typeof direct
const prefixed = (prefix?: string): Record<string, string> =>
  prefix === undefined ? {} : { 'x-forwarded-prefix': prefix }

/** Returns each path that the service writes, with the name of its place. */
async function written(service: Service, prefix?: string) {
  const headers = { authorization: `Bearer ${ada.token}`, ...prefixed(prefix) }
  const get = (path: string) => service.fetch(path, { headers, redirect: 'manual' })
  const created = await service.fetch('/api/v1/tasks', {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify({ projectId, title: 'four' }),
  })
  const list = await get(`/api/v1/tasks?projectId=${projectId}&limit=1`)
  const events = await get(`/api/v1/projects/${projectId}/events?limit=1`)
  const redirect = await get('/api')
  const document = (await (await get('/api/docs/json')).json()) as {
    servers: { url: string }[]
    info: { description: string }
    components: { headers: { Link: { example: string } } }
  }
  const pages = ['/', '/api/docs', '/api/docs/guides/conventions']
  const links = await Promise.all(
    pages.map(async (path) => [
      ...(await (await get(path)).text()).matchAll(/(?:href|src)="(\/[^"]*)"/g).map(([, link]) => link!),
    ]),
  )
  return [
    created.headers.get('location')!,
    ...[list, events].map((one) => /^<([^>]*)>; rel="next"$/.exec(one.headers.get('link') ?? '')?.[1]),
    redirect.headers.get('location')!,
    ...Object.values((await redirect.json()) as Record<string, string>),
    `${document.servers[0]!.url.replace(/\/$/, '')}/api/docs`,
    ...document.info.description.matchAll(/\]\((\/[^)]*)\)/g).map(([, link]) => link!),
    document.components.headers.Link.example.slice(1),
    ...links.flat(),
  ]
}

/** Each path must lead to the service after a proxy has removed the prefix. */
async function expectBelow(service: Service, prefix: string, sent?: string) {
  const paths = await written(service, sent)
  expect(paths.length).toBeGreaterThan(40)
  for (const path of paths)
    expect([sent, path]).toEqual([sent, expect.stringMatching(new RegExp(`^${prefix}/(api|health|$)`))])
  return paths.map((path) => path!.slice(prefix.length))
}

test('without a setting, every path begins at the root, whatever headers a client sends', async () => {
  await expectBelow(direct, '', undefined)
  await expectBelow(direct, '', '/evil')
  const [server] = ((await (await direct.fetch('/api/docs/json')).json()) as { servers: object[] }).servers
  expect(server).toMatchObject({ url: '/' })
})

test('BASE_PATH is added to every path that the service writes', async () => {
  await expectBelow(fixed, '/docket', undefined)
  await expectBelow(fixed, '/docket', '/evil')
  const again = await open({ BASE_PATH: '/a/b.c/' })
  await expectBelow(again, '/a/b.c', undefined)
})

test('with TRUST_PROXY, the header X-Forwarded-Prefix takes precedence over BASE_PATH', async () => {
  await expectBelow(proxied, '/fixed', undefined)
  await expectBelow(proxied, '/tracker', '/tracker')
  await expectBelow(proxied, '/a/b', '/a/b/')
  await expectBelow(proxied, '', '/')
  await expectBelow(proxied, '/fixed', undefined)
})

test('an invalid header is ignored', async () => {
  const invalid = [
    ...words(
      'docket //evil.example /a//b /a/../b /.. /. /a/./b https://evil.example javascript:alert(1) /a%2f..',
    ),
    ...words(`/a"b /a'b /a<b> /a>b /a?b /a#b /a\\b /%2e%2e /a;b /a,b /@evil /a:b {basePath} /{basePath} ///`),
    ...['/a b', '/a, /b', '/a,/b', '/ä', `/${'a'.repeat(200)}`, '/a/../', '/a\tb', '.', 'a/'],
  ]
  for (const prefix of invalid) {
    const headers = prefixed(prefix)
    const redirect = await proxied.fetch('/api', { headers, redirect: 'manual' })
    expect([prefix, redirect.headers.get('location')]).toEqual([prefix, '/fixed/api/docs'])
    const page = await (await proxied.fetch('/api/docs', { headers })).text()
    expect(page).toContain('"/fixed/api/docs/assets/page.js"')
    expect(page).not.toContain(prefix + '/api')
  }
})

test('each prefix gets its own copy of a page, and Vary names the header for caches', async () => {
  const get = (path: string, prefix: string, more = {}) =>
    proxied.fetch(path, { headers: { ...prefixed(prefix), ...more } })
  const prefixes = Array.from({ length: 40 }, (_, n) => `/p${n}`)
  for (const path of ['/', '/api/docs', '/api/docs/json', '/api/docs/guides/feed'])
    for (const prefix of [...prefixes, ...prefixes]) {
      const gzip = prefix.endsWith('3') ? { 'accept-encoding': 'gzip' } : {}
      const response = await get(path, prefix, gzip)
      expect(response.headers.get('vary')).toBe('Accept-Encoding, X-Forwarded-Prefix')
      const bytes = await response.bytes()
      const text = Buffer.from('accept-encoding' in gzip ? Bun.gunzipSync(bytes) : bytes).toString()
      expect([...new Set(text.match(/\/p\d+(?=\/api)/g))]).toEqual([prefix])
      expect(text).not.toMatch(/\{(basePath|serverUrl)\}/)
    }
})

test('a cached page of a list has the prefix of each request in its Link header, and the same ETag and body', async () => {
  const list = (prefix: string, more = {}) =>
    proxied.fetch(`/api/v1/tasks?projectId=${projectId}&limit=2`, {
      headers: { authorization: `Bearer ${ada.token}`, ...prefixed(prefix), ...more },
    })
  const [one, other] = [await list('/one'), await list('/other')]
  expect(one.headers.get('link')).toStartWith('</one/api/v1/tasks?')
  expect(other.headers.get('link')).toStartWith('</other/api/v1/tasks?')
  expect(await one.text()).toBe(await other.text())
  const etag = one.headers.get('etag')!
  expect(other.headers.get('etag')).toBe(etag)
  expect((await list('/other', { 'if-none-match': etag })).status).toBe(304)
})

test('the header counts only from an address that TRUST_PROXY lists', async () => {
  const listed = await open({ TRUST_PROXY: '10.0.0.0/8' })
  const redirect = await listed.fetch('/api', { headers: prefixed('/docket'), redirect: 'manual' })
  expect(redirect.headers.get('location')).toBe('/api/docs')
})

test('a mail names the path of the API below BASE_PATH', () => {
  const { text } = mailOf('verify', 'token', { publicUrl: '', basePath: '/docket' })
  expect(text).toContain('to POST /docket/api/v1/auth/email/verify within')
})

test('an invalid BASE_PATH ends the start with a message that names the setting', () => {
  for (const value of words(
    'docket //evil /a//b /.. /a/../b https://a.example /a?b /a#b /a%20b /a"b /a\\b //',
  ))
    expect(() => readConfig({ BASE_PATH: value })).toThrow(/^BASE_PATH must be a path such as \/docket/)
  for (const value of ['/a b', '/a, /b', `/${'a'.repeat(200)}`])
    expect(() => readConfig({ BASE_PATH: value })).toThrow(/^BASE_PATH must be a path/)
  expect(words('/docket /docket/ / /a/b').map((BASE_PATH) => readConfig({ BASE_PATH }).basePath)).toEqual([
    ...['/docket', '/docket', '', '/a/b'],
  ])
})

test.each(['', '/docket'])(
  'every link of every guide below "%s" leads to a page of the service',
  async (prefix) => {
    const headers = prefixed(prefix)
    const get = (path: string) => proxied.fetch(path.slice(prefix.length), { headers })
    const start = `http://docket.example${prefix}/`
    const missing: string[] = []
    const met = new Set([start])
    for (const page of met) {
      const { pathname } = new URL(page)
      const response = await get(pathname)
      if (response.status !== 200) missing.push(page)
      if (!response.headers.get('content-type')?.startsWith('text/html')) continue
      for (const [, link = ''] of (await response.text()).matchAll(/<[^>]* (?:href|src)="([^"]*)"/g)) {
        const url = new URL(link, page)
        url.hash = ''
        if (url.origin !== new URL(start).origin) continue
        met.add(url.href)
        if (!url.pathname.startsWith(`${prefix}/`)) missing.push(`${link} in ${page}`)
      }
    }
    expect(missing).toEqual([])
    expect([...met].filter((page) => page.includes('/guides/')).length).toBeGreaterThan(15)
  },
)
