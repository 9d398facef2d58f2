// Shows the document with Swagger UI. Signs in after register and login, and sends the ids of created resources in place of
// the ids of the examples.

/** The path that a proxy removes from the start of each path. */
const basePath = new URL(document.currentScript.src).pathname.replace('/api/docs/assets/page.js', '')
const documentUrl = `${basePath}/api/docs/json`
/** The email address in the examples: random, so that each visitor can register with the prefilled body. */
const email = `ada-${Math.random().toString(36).slice(2, 8)}@example.com`
/** The id and the seq in the examples. */
const [exampleId, exampleSeq] = ['019a2b3c-4d5e-7f60-8a9b-0c1d2e3f4a5b', 42]
/** The id of a resource of each type. */
const remembered = new Map()

start()

async function start() {
  const spec = displayed(await (await fetch(documentUrl)).json())
  const root = document.getElementById('swagger-ui')
  new MutationObserver(completeElements).observe(root, { childList: true, subtree: true })
  const ui = SwaggerUIBundle({
    spec,
    dom_id: '#swagger-ui',
    deepLinking: true,
    defaultModelsExpandDepth: 0,
    displayRequestDuration: true,
    filter: true,
    persistAuthorization: true,
    plugins: [
      { wrapComponents: { responses: collapsed, DeepLink: plainText } },
      // Swagger UI's own resolver takes half a second for each opened operation, because it reads the whole document.
      { fn: { resolveSubtree: (document, keys) => ({ spec: resolved(document, keys), errors: [] }) } },
    ],
    tryItOutEnabled: true,
    validatorUrl: null,
    requestInterceptor: withRememberedIds,
    responseInterceptor(response) {
      signIn(ui, response)
      remember(response)
      return response
    },
  })
}

/** Authorizes the page with the token from register or login, and removes it after logout. */
function signIn(ui, { url, status, body }) {
  const isSignIn = /\/auth\/(register|login)$/.test(url) && status < 300
  const isSignOut = /\/auth\/logout(-all)?$/.test(url) && status < 300
  if (isSignIn) ui.preauthorizeApiKey('bearer', body.access_token)
  if (isSignOut) ui.authActions.logoutWithPersistOption(['bearer'])
  const state = document.getElementById('signed-in')
  if (isSignIn)
    state.textContent = `Signed in as ${body.user.email}. Every request of this page sends the token.`
  if (isSignOut) state.textContent = 'Signed out.'
}

/** Returns the document without the common error responses, which the introduction describes, and with ids in all paths. */
function displayed(whole) {
  const operations = Object.values(whole.paths).flatMap((one) => Object.values(one))
  for (const operation of operations) {
    const own = Object.entries(operation.responses).filter(([, one]) => !one.$ref)
    operation.responses = Object.fromEntries(own)
    const example = operation.requestBody?.content['application/json']?.example
    if (example?.password && example.email) example.email = email
  }
  for (const parameter of operations.flatMap(({ parameters }) => parameters))
    if (parameter.in === 'path' && parameter.schema.format === 'uuid') parameter.example = exampleId
  return whole
}

/** Returns the part of the document at these keys, with each reference replaced by its target. */
function resolved(document, keys) {
  const at = (path) => path.reduce((value, key) => value?.[key], document)
  const within = (value, parents) => {
    if (typeof value !== 'object' || value === null) return value
    const target = value.$ref ? at(value.$ref.split('/').slice(1)) : value
    // A recursive schema stays a reference.
    if (parents.includes(target)) return value
    if (Array.isArray(target)) return target.map((item) => within(item, parents))
    const entries = Object.entries(target)
    return Object.fromEntries(entries.map(([key, item]) => [key, within(item, [...parents, target])]))
  }
  return within(at(keys), [])
}

/** Returns the type of resource that the last of these segments of a path names: `task` for `tasks`. */
function kindOfSegments(segments) {
  const last = segments.at(-1)
  if (last === 'invite') return 'member'
  if (last === 'tokens' && segments.includes('service-accounts')) return 'accountToken'
  return last.replace(/^service-|s$/g, '')
}

const kindOfField = (name) => (name === 'assigneeId' ? 'user' : /^(.+)Id$/.exec(name)?.[1])

/** Remembers the id of a created resource, or of the first resource of a list. */
function remember({ url, status, body }) {
  if (body?.user?.id) remembered.set('user', body.user.id)
  const kind = kindOfSegments(new URL(url, location.href).pathname.split('/'))
  const [first] = Array.isArray(body) ? body : []
  if (status === 201 && body?.id) remembered.set(kind, body.id)
  else if (first?.id && !remembered.has(kind)) remembered.set(kind, first.id)
}

/** Replaces the ids of the examples in a request by remembered ids. */
async function withRememberedIds(request) {
  const url = new URL(request.url, location.href)
  const segments = url.pathname.split('/')
  const idAt = (at) => remembered.get(kindOfSegments(segments.slice(0, at)))
  url.pathname = segments.map((one, at) => (one === exampleId && idAt(at)) || one).join('/')
  request.url = url.href
  if (!/^\s*\{.*\}\s*$/s.test(request.body)) return request
  if (url.pathname.endsWith('/undo')) await rememberVersion(request)
  request.body = JSON.stringify(withIds(JSON.parse(request.body)))
  return request
}

/** Returns a body with the example's ids replaced by remembered ids. */
function withIds(body, operation = '') {
  if (Array.isArray(body)) return body.map((one) => withIds(one, operation))
  if (typeof body !== 'object' || body === null) return body
  const own = body.op?.split('.')[0] ?? operation
  const entries = Object.entries(body).map(([name, value]) => {
    const kind = name === 'id' ? own : name === 'seq' ? 'seq' : kindOfField(name)
    const isExample = value === (name === 'seq' ? exampleSeq : exampleId)
    return [name, (isExample && remembered.get(kind)) || withIds(value, own)]
  })
  return Object.fromEntries(entries)
}

/** Remembers the newest event of the last project, for the example of undo. */
async function rememberVersion({ headers: { Authorization: authorization = '' } }) {
  const url = `${basePath}/api/v1/projects/${remembered.get('project')}`
  const response = await fetch(url, { headers: { authorization } })
  if (response.ok) remembered.set('seq', Number(response.headers.get('docket-version')))
}

/** Shows the response of an executed operation, and collapses the documented responses until the visitor opens them. */
function collapsed(Responses, { React: { createElement } }) {
  return function CollapsedResponses({ tryItOutResponse: response, ...props }) {
    const summary = createElement('summary', null, 'Responses')
    const documented = createElement(Responses, { ...props, tryItOutResponse: null })
    const live = response && createElement(props.getComponent('liveResponse'), { ...props, response })
    return createElement(
      'div',
      null,
      live && createElement('div', { className: 'live-response' }, live),
      createElement('details', { className: 'responses' }, summary, documented),
    )
  }
}

/** Names the elements that Swagger UI leaves without a name, and lets the keyboard scroll code. */
function completeElements() {
  for (const one of document.querySelectorAll('pre:not([tabindex])')) one.tabIndex = 0
  for (const one of document.querySelectorAll('textarea:not([aria-label])'))
    one.setAttribute('aria-label', one.closest('tr')?.dataset.paramName ?? 'Request body')
  for (const one of document.querySelectorAll('tr[data-param-name] select:not([aria-label])'))
    one.setAttribute('aria-label', one.closest('tr').dataset.paramName)
  for (const one of document.querySelectorAll('.json-schema-2020-12-accordion:not([aria-label])'))
    if (one.textContent === '') one.setAttribute('aria-label', 'Show the fields')
}

/** Replaces the link inside an operation's button, because a link inside a button is not accessible. */
function plainText(_, { React: { createElement } }) {
  return ({ text }) => createElement('span', null, text)
}
