import { expectError, forFile, freshEnv, make, openTestService, readConfig, register } from '../kit.ts'
import { upTo, withService, words } from '../kit.ts'
import type { TestService } from '../kit.ts'
import { runAdmin } from '../workers/run-admin.ts'

const account = (email: string) => ({ name: 'Ada', email, password: 'secret-1' })
const registerEmail = ({ client }: TestService, email: string) =>
  client.post('/auth/register', account(email))

test('REGISTRATION=closed rejects registrations with 403, and the operator can create accounts', () =>
  withService({ REGISTRATION: 'closed' }, async (service) => {
    const closed = 'Registration is closed: ask the operator of this service for an account'
    expectError(await registerEmail(service, 'ada@example.com'), 403, closed)
    const { text } = await runAdmin(service, 'users', 'create', 'ada@example.com', 'Ada')
    const password = / password (\S{20})/.exec(text)![1]!
    const signIn = { email: 'ada@example.com', password }
    expect((await service.client.post('/auth/login', signIn)).status).toBe(200)
  }))

test('REGISTRATION with a list of domains rejects addresses of other domains with 403', () =>
  withService({ REGISTRATION: 'example.com, Example.org' }, async (service) => {
    for (const email of ['ada@example.com', 'Ada@EXAMPLE.ORG'])
      expect((await registerEmail(service, email)).status).toBe(201)
    const message = 'Registration accepts only addresses of example.com, example.org'
    for (const email of ['ada@example.net', 'ada@sub.example.com', 'ada@notexample.com'])
      expectError(await registerEmail(service, email), 403, message)
    expectError(await registerEmail(service, 'nobody'), 400, /^email must be /)
  }))

test('REGISTRATION accepts open, closed or a list of domains', () => {
  const read = (REGISTRATION: string) => readConfig({ REGISTRATION }).registration
  expect(['', 'open', 'closed'].map(read)).toEqual(['open', 'open', 'closed'])
  expect(read('a.example,b.example')).toEqual(['a.example', 'b.example'])
  for (const wrong of ['close', '@example.com', 'a.example,', 'a example.com'])
    expect(() => read(wrong)).toThrow(/^REGISTRATION must be open, closed or domains /)
})

const tooShort = 'password must be a password of 10 to 1024 characters'
const tooCommon = 'password must not be one of the 10,000 most common passwords'
const policies: [setting: string, value: string, message: string, invalid: string[], valid: string][] = [
  ['PASSWORD_MIN_CHARACTERS', '10', tooShort, ['123456', '123456789', '🪐'.repeat(9)], '🪐'.repeat(10)],
  ['PASSWORD_REJECT_COMMON', 'on', tooCommon, words('123456 Password TRUSTNO1 qwertyuiop'), 'secret-3'],
]

test.each(policies)('%s=%s rejects new passwords, but not existing ones', async (...row) => {
  const [setting, value, message, invalid, valid] = row
  await using before = await openTestService()
  const old = { name: 'Ada', email: `old-${setting}@example.com`, password: 'iloveyou' }
  expect((await before.client.post('/auth/register', old)).status).toBe(201)
  await using strict = await openTestService({ ...before.env, [setting]: value })
  const { status, body } = await strict.client.post('/auth/login', old)
  expect(status).toBe(200)
  const ada = strict.client.as(body.access_token)
  const change = (password: string) => ada.patch('/auth/me', { password, currentPassword: 'iloveyou' })
  const signUp = (password: string) =>
    strict.client.post('/auth/register', { ...old, email: `new-${setting}@example.com`, password })
  for (const send of [signUp, change])
    for (const password of invalid) expectError(await send(password), 400, message)
  expect([(await signUp(valid)).status, (await change(valid)).status]).toEqual([201, 200])
})

test('PASSWORD_MIN_CHARACTERS is at least 6', () => {
  expect(readConfig({}).passwordMinCharacters).toBe(6)
  expect(() => readConfig({ PASSWORD_MIN_CHARACTERS: '5' })).toThrow(/PASSWORD_MIN_CHARACTERS must be .* 6/)
})

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
const list = `/api/v1/tasks?projectId=${projectId}&limit=1`
const pages = words('/ /api/docs /api/docs/guides/conventions /api/docs/guides/feed')

const prefixed = (prefix?: string): Record<string, string> =>
  prefix === undefined ? {} : { 'x-forwarded-prefix': prefix }

/** Returns the paths that the service writes in headers, pages and the document. */
async function written(service: typeof direct, prefix?: string): Promise<string[]> {
  const headers = { authorization: `Bearer ${ada.token}`, ...prefixed(prefix) }
  const get = (path: string) => service.fetch(path, { headers, redirect: 'manual' })
  const textOf = async (path: string) => (await get(path)).text()
  const created = await service.fetch('/api/v1/tasks', {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify({ projectId, title: 'four' }),
  })
  const paged = await Promise.all([list, `/api/v1/projects/${projectId}/events?limit=1`].map(get))
  const document = JSON.parse(await textOf('/api/docs/json'))
  const links = paged
    .map((one) => one.headers.get('link') ?? '')
    .concat(document.components.headers.Link.example)
  const html = (await Promise.all(pages.map(textOf))).join()
  return [
    ...[created.headers.get('location')!, (await get('/api')).headers.get('location')!],
    ...links.map((link) => /^<([^>]*)>; rel="next"$/.exec(link)?.[1] ?? ''),
    `${document.servers[0].url.replace(/\/$/, '')}/api/docs`,
    ...document.info.description.matchAll(/\]\((\/[^)]*)\)/g).map(([, link]: string[]) => link!),
    ...html.matchAll(/(?:href|src)="(\/[^"]*)"/g).map(([, link]) => link!),
  ]
}

const below: [setting: string, service: typeof direct, header: string | undefined, prefix: string][] = [
  ['no setting', direct, undefined, ''],
  ['no setting', direct, '/evil', ''],
  ['BASE_PATH', fixed, undefined, '/docket'],
  ['BASE_PATH', fixed, '/evil', '/docket'],
  ['BASE_PATH with a slash at its end', await open({ BASE_PATH: '/a/b.c/' }), undefined, '/a/b.c'],
  ['BASE_PATH and TRUST_PROXY', proxied, undefined, '/fixed'],
  ['BASE_PATH and TRUST_PROXY', proxied, '/tracker', '/tracker'],
  ['BASE_PATH and TRUST_PROXY', proxied, '/a/b/', '/a/b'],
  ['BASE_PATH and TRUST_PROXY', proxied, '/', ''],
  ['TRUST_PROXY that lists other addresses', await open({ TRUST_PROXY: '10.0.0.0/8' }), '/evil', ''],
]

// A proxy removes the prefix again from each request to such a path.
test.each(below)(
  'with %s, every path that the service writes has the right prefix',
  async (_, service, sent, prefix) => {
    const paths = await written(service, sent)
    expect(paths.length).toBeGreaterThan(40)
    for (const path of paths)
      expect([sent, path]).toEqual([sent, expect.stringMatching(new RegExp(`^${prefix}/(api|health|$)`))])
  },
)

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

test('each prefix gets its own copy of a page and of a Link header, and Vary names the header for caches', async () => {
  const get = (path: string, prefix: string, more = {}) =>
    proxied.fetch(path, { headers: { authorization: `Bearer ${ada.token}`, ...prefixed(prefix), ...more } })
  const prefixes = upTo(24).map((n) => `/p${n}`)
  for (const path of [...pages, '/api/docs/json'])
    for (const prefix of [...prefixes, ...prefixes]) {
      const gzip = prefix.endsWith('3') ? { 'accept-encoding': 'gzip' } : {}
      const response = await get(path, prefix, gzip)
      expect(response.headers.get('vary')).toBe('Accept-Encoding, X-Forwarded-Prefix')
      const bytes = await response.bytes()
      const text = Buffer.from('accept-encoding' in gzip ? Bun.gunzipSync(bytes) : bytes).toString()
      expect([...new Set(text.match(/\/p\d+(?=\/api)/g))]).toEqual([prefix])
      expect(text).not.toMatch(/\{(basePath|serverUrl)\}/)
    }
  const [one, other] = [await get(list, '/one'), await get(list, '/other')]
  expect(one.headers.get('link')).toStartWith('</one/api/v1/tasks?')
  expect(other.headers.get('link')).toStartWith('</other/api/v1/tasks?')
  expect(await one.text()).toBe(await other.text())
  const condition = { 'if-none-match': one.headers.get('etag')! }
  expect((await get(list, '/other', condition)).status).toBe(304)
})

test('an invalid BASE_PATH ends the start with a message that names the setting', () => {
  const invalid = words('docket //evil /a//b /.. /a/../b https://a.example /a?b /a#b /a%20b /a"b /a\\b //')
  for (const value of [...invalid, '/a b', '/a, /b', `/${'a'.repeat(200)}`])
    expect(() => readConfig({ BASE_PATH: value })).toThrow(/^BASE_PATH must be a path such as \/docket/)
  const read = words('/docket /docket/ / /a/b').map((BASE_PATH) => readConfig({ BASE_PATH }).basePath)
  expect(read).toEqual(['/docket', '/docket', '', '/a/b'])
})

test.each(['', '/docket'])(
  'every link of every guide below "%s" leads to a page of the service',
  async (prefix) => {
    const start = `http://docket.example${prefix}/`
    const missing: string[] = []
    const met = new Set([start])
    for (const page of met) {
      const { pathname } = new URL(page)
      const response = await proxied.fetch(pathname.slice(prefix.length), { headers: prefixed(prefix) })
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
