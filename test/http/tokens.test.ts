import { createHmac } from 'node:crypto'
import { type Client, expectError, openScene, register, testSecret, unknownId } from '../kit.ts'

const { service, client, ada } = await openScene(['Ada'])

const [head, body, signature] = ada.token!.split('.') as [string, string, string]

const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
const now = () => Math.floor(Date.now() / 1000)
const claims = (over: object = {}) => {
  const own = { sub: ada.id, jti: unknownId, ver: 0 }
  return { ...own, iss: 'docket', aud: 'docket-api', iat: now(), exp: now() + 60, ...over }
}

function sign(payload: unknown, { alg = 'HS256', secret = testSecret } = {}): string {
  const signed = `${part({ alg, typ: 'JWT' })}.${part(payload)}`
  const hash = { HS256: 'sha256', HS384: 'sha384', HS512: 'sha512' }[alg] ?? 'sha256'
  return `${signed}.${createHmac(hash, secret).update(signed).digest('base64url')}`
}

const me = (authorization?: string): ReturnType<Client['get']> =>
  client.get('/auth/me', authorization === undefined ? {} : { authorization })

test('accepts a token with a valid signature and claims, with the scheme in any letter case', async () => {
  for (const header of [`Bearer ${sign(claims())}`, `bearer ${ada.token}`, `BEARER  ${ada.token}`])
    expect((await me(header)).body.id).toBe(ada.id)
})

test('verifies a token once, in whatever letter case the scheme is written', async () => {
  const grace = await register(client)
  const { tokens } = service.services
  const { verify } = tokens
  let verified = 0
  tokens.verify = (token) => {
    verified++
    return verify(token)
  }
  for (const scheme of ['Bearer ', 'bearer ', 'BEARER  ', 'bEARER   ', 'Bearer    '])
    expect((await me(scheme + grace.token)).body.id).toBe(grace.id)
  tokens.verify = verify
  expect(verified).toBe(1)
})

test('rejects a missing token with 401 and names the scheme', async () => {
  for (const header of [undefined, '']) {
    const answer = await me(header)
    expectError(answer, 401, /required/)
    expect(answer.headers.get('www-authenticate')).toStartWith('Bearer')
  }
})

test('rejects a malformed bearer token with 401', async () => {
  const wrong = [ada.token!, 'Bearer', 'Bearer ', 'Bearer x', 'Bearer a.b.c', `Basic ${ada.token}`]
  wrong.push(`Bearer ${head}.${body}`, `Bearer ${head}.${body}.`, `Bearer ${ada.token}.x`, 'Bearer null')
  wrong.push(`Bearer ${ada.token} x`, `Bearer ${ada.token},`, `Bearer ${body}.${head}.${signature}`)
  for (const header of wrong) expectError(await me(header), 401, 'The bearer token is not valid')
})

const otherBody = part({ ...JSON.parse(Buffer.from(body, 'base64url').toString()), sub: unknownId })
const flipped = (signature.startsWith('A') ? 'B' : 'A') + signature.slice(1)
const unsigned = (alg: string) => `${part({ alg, typ: 'JWT' })}.${part(claims())}.`
const invalid: Record<string, string[]> = {
  'a forged token': [
    ...[`${head}.${otherBody}.${signature}`, `${head}.${body}.${flipped}`, unsigned('none')],
    sign(claims(), { secret: 'a secret of another service' }),
    ...['HS512', 'HS384', 'none'].map((alg) => sign(claims(), { alg })),
    ...['none', 'RS256'].map((alg) => unsigned(alg) + signature),
  ],
  'a token that is expired or has no valid expiry': [now() - 1, undefined, 'soon'].map((exp) =>
    sign(claims({ exp })),
  ),
  'a token with another issuer, audience or subject': [
    ...['other', undefined].flatMap((one) => [sign(claims({ iss: one })), sign(claims({ aud: one }))]),
    ...[undefined, 7, '', "' or 1=1", unknownId].map((sub) => sign(claims({ sub }))),
    ...[sign(claims({ nbf: now() + 60 })), sign(['not', 'claims']), sign(null)],
  ],
}
test.each(Object.entries(invalid))('rejects %s with 401', async (_, tokens) => {
  for (const token of tokens) expectError(await me(`Bearer ${token}`), 401)
})

test('rejects a request without a token before reading its body and query', async () => {
  expectError(await client.post('/projects', '{"name":'), 401)
  expectError(await client.post('/projects', { name: 'P' }, { 'content-type': 'text/plain' }), 401)
  expectError(await client.get('/tasks?unknown=1'), 401)
})
