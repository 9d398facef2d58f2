// Remembers the ids that responses contain, and puts them into the examples of the document.

/** The type of resource that each path segment names. */
const kinds = {
  projects: 'project',
  tasks: 'task',
  subtasks: 'subtask',
  comments: 'comment',
  labels: 'label',
  members: 'member',
  webhooks: 'webhook',
  'service-accounts': 'account',
  tokens: 'token',
}

/** Returns the type of resource of a path parameter: `project` for `{id}` in `/projects/{id}`. */
function kindOfParameter(path, name) {
  const segments = path.split('/')
  const before = segments[segments.indexOf(`{${name}}`) - 1]
  return name === 'tokenId' ? 'accountToken' : (kinds[before] ?? kindOfField(name))
}

const kindOfField = (name) => (name === 'assigneeId' ? 'user' : /^(.+)Id$/.exec(name)?.[1])

/** Returns the type of resource that a URL lists or creates: `subtask` for `/api/v1/tasks/01…/subtasks`. */
function kindOfUrl(url) {
  const segments = new URL(url, location.href).pathname.split('/api/v1/').at(-1).split('/')
  const last = segments.at(-1) === 'invite' ? segments.at(-2) : segments.at(-1)
  if (last === 'tokens' && segments.includes('service-accounts')) return 'accountToken'
  return kinds[last]
}

const remembered = new Map()

/** Remembers the id of a created resource, or of the first resource of a list. */
function remember({ url, method, status, body }) {
  if (body?.user?.id) remembered.set('user', body.user.id)
  const kind = kindOfUrl(url)
  if (!kind) return
  const [first] = Array.isArray(body) ? body : []
  if (status === 201 && body?.id) remembered.set(kind, body.id)
  else if (first?.id && !remembered.has(kind)) remembered.set(kind, first.id)
}

/** Returns a body with the example's ids replaced by remembered ids. */
function withIds(body, operation = '') {
  if (Array.isArray(body)) return body.map((one) => withIds(one, operation))
  if (typeof body !== 'object' || body === null) return body
  const own = body.op?.split('.')[0] ?? operation
  const entries = Object.entries(body).map(([name, value]) => {
    const kind = name === 'id' ? own : name === 'seq' ? 'seq' : kindOfField(name)
    const isExample = typeof value === 'number' || /^[0-9a-f]{8}-/.test(value)
    if (kind && isExample && remembered.has(kind)) return [name, remembered.get(kind)]
    return [name, withIds(value, own)]
  })
  return Object.fromEntries(entries)
}
