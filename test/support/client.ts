export interface Answer {
  status: number
  body: Body
  text: string
  headers: Headers
}

export interface Body extends Array<Body> {
  id: string
  name: string
  email: string
  access_token: string
  user: Body
  ownerId: string
  owner: Body
  userId: string
  projectId: string
  role: string
  number: number
  title: string
  description: string | null
  status: string
  priority: string
  dueDate: string | null
  assigneeId: string | null
  completed: boolean
  taskId: string
  text: string
  authorId: string
  author: Body
  authorRemoved: boolean
  createdAt: string
  updatedAt: string
  statusCode: number
  message: string
  error: string
}

export type Fetch = (request: Request) => Response | Promise<Response>

export type Client = ReturnType<typeof openClient>

const json = { 'content-type': 'application/json' }

/** Speaks to the service at `base`, through a socket or (with `fetch`) straight to the app. Paths are below /api/v1. */
export function openClient(base: string, token?: string, send: Fetch = (request) => fetch(request)) {
  async function call(
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
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
    const text = isStream(response) ? await left(response) : await response.text()
    return { status: response.status, text, body: parse(text), headers: response.headers }
  }
  return {
    call,
    token,
    get: (path: string, headers?: Record<string, string>) => call('GET', path, undefined, headers),
    post: (path: string, body?: unknown, headers?: Record<string, string>) =>
      call('POST', path, body, headers),
    patch: (path: string, body?: unknown, headers?: Record<string, string>) =>
      call('PATCH', path, body, headers),
    delete: (path: string, headers?: Record<string, string>) => call('DELETE', path, undefined, headers),
    /** The same service as someone else; without a token as nobody. */
    as: (other?: string) => openClient(base, other, send),
    /** The same person at another process. */
    at: (other: string) => openClient(other, token),
  }
}

const isStream = ({ headers }: Response) => headers.get('content-type') === 'text/event-stream'

/** A stream has no end: it is left as soon as it has begun, and nothing is read of it. */
async function left({ body }: Response): Promise<string> {
  await body?.cancel()
  return ''
}

const isSentAsIs = (body: unknown): body is string | Uint8Array<ArrayBuffer> =>
  typeof body === 'string' || body instanceof Uint8Array

/** Anything that is not JSON is null; its text is in the answer too. */
function parse(text: string): Body {
  try {
    return JSON.parse(text)
  } catch {
    return null as unknown as Body
  }
}

let people = 0

/** Registers somebody new and gives their client, id and email address. */
export async function register(nobody: Client, name = 'Someone') {
  const email = `person-${process.pid}-${Date.now()}-${++people}@example.com`
  const { status, body } = await nobody.post('/auth/register', { name, email, password: 'secret-1' })
  if (status !== 201) throw new Error(`register answered ${status}`)
  return { ...nobody.as(body.access_token), id: body.user?.id, email }
}
export type Person = Awaited<ReturnType<typeof register>>

/** Creates and gives back what a POST answers; fails unless it is 201. */
export async function make(client: Client, path: string, body: unknown): Promise<Body> {
  const answer = await client.post(path, body)
  if (answer.status !== 201) throw new Error(`POST ${path} answered ${answer.status} ${answer.text}`)
  return answer.body
}

export const invite = (owner: Client, projectId: string, person: Person, role = 'VIEWER') =>
  make(owner, `/projects/${projectId}/members/invite`, { email: person.email, role })

export type Token = Body & { token: string }
export const expiresAt = new Date(Date.now() + 86_400_000).toISOString()

/** Makes an API token of somebody, with the scope `admin` unless told. */
export const makeToken = async (who: Client, over: object = {}, path = '/tokens') =>
  (await make(who, path, { name: 'T', scopes: ['admin'], expiresAt, ...over })) as Token

export const withToken = async (who: Person, over: object = {}): Promise<Person> => ({
  ...who,
  ...who.as((await makeToken(who, over)).token),
})
