import { createHmac } from 'node:crypto'

export interface Answer {
  status: number
  body: Body
  text: string
  headers: Headers
}

type IdField = 'id' | 'projectId' | 'taskId' | 'userId' | 'ownerId' | 'authorId'
type AccountField = 'name' | 'email' | 'role' | 'access_token'
type TextField =
  'title' | 'status' | 'priority' | 'position' | 'text' | 'message' | 'error' | 'createdAt' | 'updatedAt'

/** The fields of all response bodies together; a body may also be a list. */
export interface Body
  extends
    Array<Body>,
    Record<IdField | AccountField | TextField, string>,
    Record<'description' | 'dueDate' | 'assigneeId', string | null>,
    Record<'number' | 'statusCode', number>,
    Record<'completed' | 'authorRemoved', boolean> {
  user: Body
  owner: Body
  author: Body
}

type HeaderFields = Record<string, string>
type Fetch = (request: Request) => Response | Promise<Response>

export type Client = ReturnType<typeof openClient>

const json = { 'content-type': 'application/json' }

/** Sends requests to the service at `base`, by default through a socket. Paths are relative to /api/v1. */
export function openClient(base: string, token?: string, send: Fetch = (request) => fetch(request)) {
  async function call(
    method: string,
    path: string,
    body?: unknown,
    headers: HeaderFields = {},
  ): Promise<Answer> {
    const init: RequestInit = {
      method,
      headers: {
        ...(body !== undefined && json),
        ...(token && { authorization: `Bearer ${token}` }),
        ...headers,
      },
      ...(body !== undefined && { body: isSentAsIs(body) ? body : JSON.stringify(body) }),
    }
    const response = await send(new Request(base + '/api/v1' + path, init))
    const text = isStream(response) ? await cancel(response) : await response.text()
    return { status: response.status, text, body: parse(text), headers: response.headers }
  }
  return {
    call,
    token,
    get: (path: string, headers?: HeaderFields) => call('GET', path, undefined, headers),
    post: (path: string, body?: unknown, headers?: HeaderFields) => call('POST', path, body, headers),
    patch: (path: string, body?: unknown, headers?: HeaderFields) => call('PATCH', path, body, headers),
    delete: (path: string, headers?: HeaderFields) => call('DELETE', path, undefined, headers),
    /** The same service with another token, or without a token. */
    as: (other?: string) => openClient(base, other, send),
    /** The same user at another process. */
    at: (other: string) => openClient(other, token),
  }
}

const isStream = ({ headers }: Response) => headers.get('content-type') === 'text/event-stream'

/** Closes an event stream without reading it, because an event stream does not end. */
async function cancel({ body }: Response): Promise<string> {
  await body?.cancel()
  return ''
}

const isSentAsIs = (body: unknown): body is string | Uint8Array<ArrayBuffer> =>
  typeof body === 'string' || body instanceof Uint8Array

function parse(text: string): Body {
  try {
    return JSON.parse(text)
  } catch {
    return null as unknown as Body
  }
}

let people = 0

export async function register(client: Client, name = 'Someone') {
  const email = `person-${process.pid}-${Date.now()}-${++people}@example.com`
  const { status, body } = await client.post('/auth/register', { name, email, password: 'secret-1' })
  if (status !== 201) throw new Error(`register answered ${status}`)
  return { ...client.as(body.access_token), id: body.user?.id, email }
}
export type Person = Awaited<ReturnType<typeof register>>

/** Sends a POST and returns the body of the response. @throws unless the status is 201 */
export async function make(client: Client, path: string, body: unknown): Promise<Body> {
  const answer = await client.post(path, body)
  if (answer.status !== 201) throw new Error(`POST ${path} answered ${answer.status} ${answer.text}`)
  return answer.body
}

/** Runs a batch and returns the rows in the order of the operations. @throws unless the status is 200 */
export async function runBatch(client: Client, projectId: string, operations: object[]): Promise<Body[]> {
  const { status, text, body } = await client.post(`/projects/${projectId}/batch`, { operations })
  if (status !== 200) throw new Error(`The batch answered ${status} ${text}`)
  return (body as unknown as { results: Body[] }).results
}

/** Creates tasks with the titles `T1`, `T2` and so on in one batch. */
export const makeTasks = (
  client: Client,
  projectId: string,
  count: number,
  fieldsOf = (_n: number) => ({}),
) =>
  runBatch(
    client,
    projectId,
    Array.from({ length: count }, (_, i) => ({ op: 'task.create', title: `T${i + 1}`, ...fieldsOf(i + 1) })),
  )

export const invite = (owner: Client, projectId: string, person: Person, role = 'VIEWER') =>
  make(owner, `/projects/${projectId}/members/invite`, { email: person.email, role })

export const versionOf = async (client: Client, projectId: string) =>
  Number((await client.get(`/projects/${projectId}`)).headers.get('docket-version'))

export type Token = Body & { token: string }
export const expiresAt = new Date(Date.now() + 86_400_000).toISOString()

export const makeToken = async (client: Client, over: object = {}, path = '/tokens') =>
  (await make(client, path, { name: 'T', scopes: ['admin'], expiresAt, ...over })) as Token

export const withToken = async (person: Person, over: object = {}): Promise<Person> => ({
  ...person,
  ...person.as((await makeToken(person, over)).token),
})

const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
const hashes: Record<string, string> = { HS256: 'sha256', HS384: 'sha384', HS512: 'sha512' }
/** The claims of a sign-in token: `auth_time` is the time of the sign-in, and `ver` the token version of the account. */
export const claimsOf = (userId: string, over: object = {}) => {
  const now = Math.floor(Date.now() / 1000)
  const own = { sub: userId, jti: crypto.randomUUID(), ver: 0, iss: 'docket', aud: 'docket-api' }
  return { ...own, auth_time: now, exp: now + 60, ...over }
}

/** Signs a token as the service does. */
export function signToken(claims: unknown, secret: string, alg = 'HS256'): string {
  const signed = `${part({ alg, typ: 'JWT' })}.${part(claims)}`
  const signature = createHmac(hashes[alg] ?? 'sha256', secret).update(signed)
  return `${signed}.${signature.digest('base64url')}`
}
