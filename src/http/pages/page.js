// Shows the document with Swagger UI. Signs in after register and login, and fills in the ids of created resources.

/** The path that a proxy removes from the start of each path. */
const basePath = new URL(document.currentScript.src).pathname.replace('/api/docs/assets/page.js', '')
const documentUrl = `${basePath}/api/docs/json`
/** The email address in the examples: random, so that each visitor can register with the prefilled body. */
const email = `ada-${Math.random().toString(36).slice(2, 8)}@example.com`
/** The last value that the page filled into each field. */
const filled = new Map()
/** The id of a resource of each type. */
const remembered = new Map()

start()

async function start() {
  const spec = displayed(await (await fetch(documentUrl)).json())
  const places = Object.entries(spec.paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, operation]) => ({ path, method, operation })),
  )
  const isOpen = ({ operation: { tags, operationId } }) =>
    ui.layoutSelectors.isShown(['operations', tags[0], operationId])
  const fillInOpen = () => setTimeout(() => places.filter(isOpen).forEach((place) => fillIn(ui, place)))
  const show = (original) => (thing, isShown) => {
    fillInOpen()
    return original(thing, isShown)
  }
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
      { statePlugins: { layout: { wrapActions: { show } } } },
    ],
    tryItOutEnabled: true,
    validatorUrl: null,
    responseInterceptor(response) {
      signIn(ui, response)
      remember(response)
      fillInOpen()
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

/** Returns the document without the common error responses, which the introduction describes. */
function displayed(whole) {
  for (const operation of Object.values(whole.paths).flatMap((one) => Object.values(one))) {
    const own = Object.entries(operation.responses).filter(([, one]) => !one.$ref)
    operation.responses = Object.fromEntries(own)
    const { example } = contentOf(operation)
    if (example?.password && example.email) example.email = email
  }
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

const contentOf = ({ requestBody }) => requestBody?.content['application/json'] ?? {}

/** Returns the type of resource that the last of these segments of a path names: `task` for `tasks`. */
function kindOfSegments(segments) {
  const last = segments.at(-1)
  if (last === 'invite') return 'member'
  if (last === 'tokens' && segments.includes('service-accounts')) return 'accountToken'
  return last.replace(/^service-|s$/g, '')
}

const kindOfField = (name) => (name === 'assigneeId' ? 'user' : /^(.+)Id$/.exec(name)?.[1])

/** Returns the type of resource of a parameter: `project` for `{id}` in `/projects/{id}`. */
function kindOfParameter(path, name) {
  const segments = path.split('/')
  const at = segments.indexOf(`{${name}}`)
  return at < 0 ? kindOfField(name) : kindOfSegments(segments.slice(0, at))
}

/** Remembers the id of a created resource, or of the first resource of a list. */
function remember({ url, status, body }) {
  if (body?.user?.id) remembered.set('user', body.user.id)
  const kind = kindOfSegments(new URL(url, location.href).pathname.split('/'))
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

/** Fills remembered ids into the fields of an open operation, except fields that the visitor has changed. */
async function fillIn(ui, { path, method, operation }) {
  const { oas3Actions, oas3Selectors, specActions, specSelectors } = ui
  const place = [path, method]
  // Swagger UI renders the fields after it has resolved the operation.
  while (!specSelectors.specResolvedSubtree(['paths', ...place]))
    await new Promise((resolve) => setTimeout(resolve, 20))
  const parameters = specSelectors.specJsonWithResolvedSubtrees().getIn(['paths', ...place, 'parameters'])
  for (const parameter of parameters ?? []) {
    const name = parameter.get('name')
    const isForId = parameter.get('in') === 'path' || (name === 'projectId' && path.endsWith('/tasks'))
    const id = isForId && remembered.get(kindOfParameter(path, name))
    const value = specSelectors.parameterWithMetaByIdentity(place, parameter)?.get('value')
    if (!id || !isUntouched(`${place} ${name}`, value, parameter.get('example'))) continue
    specActions.changeParamByIdentity(place, parameter, rememberFilled(`${place} ${name}`, id), false)
  }
  const { example } = contentOf(operation)
  if (!example) return
  if (example.seq) await rememberVersion(ui)
  const text = JSON.stringify(withIds(example), null, 2)
  if (isUntouched(String(place), oas3Selectors.requestBodyValue(...place), JSON.stringify(example, null, 2)))
    oas3Actions.setRequestBodyValue({ value: rememberFilled(String(place), text), pathMethod: place })
}

/** Remembers the newest event of the last project, for the example of undo. */
async function rememberVersion(ui) {
  const token = ui.authSelectors.authorized().getIn(['bearer', 'value'])
  if (!token || !remembered.has('project')) return
  const headers = { authorization: `Bearer ${token}` }
  const response = await fetch(`${basePath}/api/v1/projects/${remembered.get('project')}`, { headers })
  if (response.ok) remembered.set('seq', Number(response.headers.get('docket-version')))
}

const isUntouched = (field, value, example) => !value || value === example || value === filled.get(field)

function rememberFilled(field, value) {
  filled.set(field, value)
  return value
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
