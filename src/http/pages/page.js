// Shows the document with Swagger UI: signs in after register and login, and offers the ids of what was created.

const documentUrl = '/api/docs/json'
/** The account in the examples: a new one for each visitor, so that registering works as prefilled. */
const email = `ada-${Math.random().toString(36).slice(2, 8)}@example.com`
/** The last values that were put into each field. */
const offered = new Map()

start()

async function start() {
  const spec = displayed(await (await fetch(documentUrl)).json())
  const places = Object.entries(spec.paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, operation]) => ({ path, method, operation })),
  )
  const open = new Set()
  const whenOpened = (show) => (thing, isShown) => {
    const [kind, , id] = thing
    const place = kind === 'operations' && places.find(({ operation }) => operation.operationId === id)
    if (place && isShown) open.add(place)
    else open.delete(place)
    if (place && isShown) setTimeout(() => offer(ui, place))
    return show(thing, isShown)
  }
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
      // Swagger UI's own resolver reads the whole document for each operation that is opened: half a second.
      { fn: { resolveSubtree: (document, keys) => ({ spec: resolved(document, keys), errors: [] }) } },
      { statePlugins: { layout: { wrapActions: { show: whenOpened } } } },
    ],
    tryItOutEnabled: true,
    validatorUrl: null,
    requestInterceptor: (request) => Object.assign(request, { sentAs: request.method }),
    responseInterceptor(response) {
      const told = { ...response, method: response.request?.sentAs }
      signIn(ui, told)
      remember(told)
      for (const place of open) setTimeout(() => offer(ui, place))
      return response
    },
  })
}

/** Authorizes the page with the token that register and login return. */
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

/** Returns the document without the responses that every operation shares, which the introduction describes. */
function displayed(whole) {
  const resolve = (one) => (one.$ref ? whole.components.parameters[one.$ref.split('/').at(-1)] : one)
  for (const operation of Object.values(whole.paths).flatMap((one) => Object.values(one))) {
    operation.parameters = operation.parameters.map(resolve)
    const own = Object.entries(operation.responses).filter(([, one]) => !one.$ref)
    operation.responses = Object.fromEntries(own)
    const { example } = contentOf(operation)
    if (example?.password && example.email) example.email = email
  }
  return whole
}

/** Returns the part of a document at these keys with the target of each reference in its place. */
function resolved(document, keys) {
  const at = (path) => path.reduce((value, key) => value?.[key], document)
  const within = (value, parents) => {
    if (typeof value !== 'object' || value === null) return value
    const target = value.$ref ? at(value.$ref.split('/').slice(1)) : value
    // A schema that contains itself stays a reference.
    if (parents.includes(target)) return value
    if (Array.isArray(target)) return target.map((item) => within(item, parents))
    const entries = Object.entries(target)
    return Object.fromEntries(entries.map(([key, item]) => [key, within(item, [...parents, target])]))
  }
  return within(at(keys), [])
}

const contentOf = ({ requestBody }) => requestBody?.content['application/json'] ?? {}

/** Puts known ids into the fields of an open operation, unless the visitor has changed them. */
async function offer(ui, { path, method, operation }) {
  const { oas3Actions, oas3Selectors, specActions, specSelectors } = ui
  const place = [path, method]
  // Swagger UI shows the fields once it has resolved the operation.
  while (!specSelectors.specResolvedSubtree(['paths', ...place]))
    await new Promise((resolve) => setTimeout(resolve, 20))
  const parameters = specSelectors.specJsonWithResolvedSubtrees().getIn(['paths', ...place, 'parameters'])
  for (const parameter of parameters ?? []) {
    const name = parameter.get('name')
    const isForId = parameter.get('in') === 'path' || (name === 'projectId' && path.endsWith('/tasks'))
    const id = isForId && remembered.get(kindOfParameter(path, name))
    const value = specSelectors.parameterWithMetaByIdentity(place, parameter)?.get('value')
    if (!id || !isUntouched(`${place} ${name}`, value, parameter.get('example'))) continue
    specActions.changeParamByIdentity(place, parameter, keep(`${place} ${name}`, id), false)
  }
  const { example } = contentOf(operation)
  if (!example) return
  if (example.seq) await rememberVersion(ui)
  const text = JSON.stringify(withIds(example), null, 2)
  if (isUntouched(String(place), oas3Selectors.requestBodyValue(...place), JSON.stringify(example, null, 2)))
    oas3Actions.setRequestBodyValue({ value: keep(String(place), text), pathMethod: place })
}

/** The newest event of the last project is the one to undo. */
async function rememberVersion(ui) {
  const token = ui.authSelectors.authorized().getIn(['bearer', 'value'])
  if (!token || !remembered.has('project')) return
  const headers = { authorization: `Bearer ${token}` }
  const response = await fetch(`/api/v1/projects/${remembered.get('project')}`, { headers })
  if (response.ok) remembered.set('seq', Number(response.headers.get('docket-version')))
}

const isUntouched = (field, value, example) => !value || value === example || value === offered.get(field)

function keep(field, value) {
  offered.set(field, value)
  return value
}

/** Shows the responses of an operation when they are opened, or when there is one to show. */
function collapsed(Responses, { React: { createElement } }) {
  return function CollapsedResponses(props) {
    const isOpen = props.tryItOutResponse ? { open: true } : {}
    const summary = createElement('summary', null, 'Responses')
    return createElement(
      'details',
      { className: 'responses', ...isOpen },
      summary,
      createElement(Responses, props),
    )
  }
}

/** A link inside of the button that opens an operation is not accessible. */
function plainText(_, { React: { createElement } }) {
  return ({ text }) => createElement('span', null, text)
}
