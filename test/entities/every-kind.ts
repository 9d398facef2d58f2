// Runs in a copy of the project that has the fields of fields.yaml: see copy.deep.test.ts.
import { connect } from '../mcp/scene.ts'
import { Docket } from '../../clients/typescript/src/docket.ts'
import { newTask } from '../../clients/typescript/src/tanstack.ts'
import { runDocket } from '../cli/scene.ts'
import { importInto } from '../exports/everything.ts'
import { allPages, eventually, readFeed, versionOf } from '../kit.ts'
import { newFields } from './edits.ts'
import { ada, batch, bea, carl, created, newProject, origin, readTask, refillIndex, send } from './scene.ts'
import { service, titles, undo } from './scene.ts'

const people = new Map<unknown, string>(Object.entries({ Ada: ada.id, Bea: bea.id, Carl: carl.id }))

const kebab = (name: string) => name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
const dataOf = async (id: string) => (await readTask(id)) as unknown as Record<string, unknown>

describe.each(newFields)('a field of the kind $kind', (field) => {
  const { name, none = null, wrong, header = name, bounds, index, kind, declaration } = field
  const [low, middle, high] = field.values.map((one) => people.get(one) ?? one) as [string, string, string]
  const query = (value: unknown) => encodeURIComponent(String(value))
  const isFiltered = declaration.includes('index:')

  async function place() {
    const projectId = await newProject()
    const make = (title: string, value?: unknown) =>
      created('/tasks', { projectId, title, ...(value !== undefined && { [name]: value }) })
    const a = await make('a', middle)
    const [b, c, d] = [await make('b'), await make('c', low), await make('d', high)]
    const path = `/tasks?projectId=${projectId}`
    const list = async (more: string) => titles((await allPages(ada, `${path}&limit=1&${more}`)).flat())
    const statusOf = async (more: string) => (await ada.get(`${path}&${more}`)).status
    return { projectId, a, b, c, d, list, statusOf }
  }
  const valueOf = async (id: string, more = '') => (await dataOf(id + more))[name]

  test('is written by every kind of write, appears in the feed, moves, and is undone', async () => {
    const { projectId, a, b } = await place()
    const task = { projectId, taskId: a.id }
    expect([await valueOf(a.id), await valueOf(b.id)]).toEqual([middle, none])
    for (const value of wrong) {
      const { status } = await ada.patch(`/tasks/${a.id}`, { [name]: value })
      expect({ value, status }).toEqual({ value, status: 400 })
    }
    await ada.patch(`/tasks/${b.id}`, { [name]: high })
    const version = await versionOf(ada, projectId)
    expect(await valueOf(b.id)).toBe(high)
    const [event] = await readFeed(ada, `/projects/${projectId}/events?after=${version - 1}`)
    expect(event).toMatchObject({ before: { [name]: none }, after: { [name]: high } })
    const update = { op: 'task.update', id: b.id, was: { [name]: high }, [name]: none }
    for (const status of [200, 409]) expect((await batch(task, [update])).status).toBe(status)
    expect([await valueOf(b.id), await valueOf(b.id, `?asOf=${version}`)]).toEqual([none, high])
    await undo(projectId, version + 1)
    expect(await valueOf(b.id)).toBe(high)
    const path = `/projects/${projectId}/tasks/external/X-1`
    const { id } = (await ada.call('PUT', path, { title: 'x', [name]: low })).body
    await ada.call('PUT', path, { [name]: high })
    expect(await valueOf(id)).toBe(high)
    await ada.patch(`/tasks/${id}`, { projectId: await newProject() })
    expect(await valueOf(id)).toBe(high)
  })

  test('filters and sorts lists, with cursors', async () => {
    const { projectId, list, statusOf, a } = await place()
    if (isFiltered) {
      const [own, reversed] = low === high ? ['acd', 'dca'] : ['a', 'a']
      expect(await list(`${name}=${query(middle)}`)).toBe(own)
      expect(await list(`${name}=${query(middle)}&status=TODO&sort=-createdAt`)).toBe(reversed)
      const other = { boolean: 'soon', wholeNumber: '1.5', user: 'soon' }[kind]
      if (other) expect(await statusOf(`${name}=${other}`)).toBe(400)
      await created(`/projects/${projectId}/views`, { name: 'Some', query: { [name]: String(middle) } })
    }
    if (kind === 'wholeNumber') expect(await list(`${name}=999999999999999`)).toBe('')
    for (const [from, to] of bounds ? [bounds] : []) {
      const isExclusive = kind === 'instant'
      expect(await list(`${from}=${query(low)}&${to}=${query(middle)}`)).toBe(isExclusive ? '' : 'ca')
      expect(await list(`${from}=${query(low)}`)).toBe(isExclusive ? 'ad' : 'cad')
      expect(await list(`${to}=${query(high)}&sort=createdAt`)).toBe(isExclusive ? 'ac' : 'acd')
      expect(await statusOf(`${from}=soon`)).toBe(400)
    }
    if (!index) return expect((await ada.get(`/tasks?sort=${name}`)).status).toBe(400)
    expect([await list(`sort=${name}`), await list(`sort=-${name}`)]).toEqual(['cadb', 'bdac'])
    expect(await list(`sort=${name}&status=TODO&priority=MEDIUM`)).toBe('cadb')
    await ada.patch(`/tasks/${a.id}`, { [name]: none })
    const version = (await versionOf(ada, projectId)) - 1
    expect(await list(`sort=${name}&asOf=${version}`)).toBe('cadb')
    expect(await statusOf(`sort=${name}&cursor=eyJ4IjoxfQ`)).toBe(400)
  })

  test.each(['docket', 'csv'])(
    'is equal after an export as %s and an import into another project',
    async (format) => {
      const { projectId, a, b } = await place()
      const text = (await ada.get(`/projects/${projectId}/export?format=${format}`)).text
      const key = kind === 'user' ? header : name
      expect(text).toContain(format === 'csv' ? `,${header},` : `"${key}":`)
      const importTo = async (id: string) => (await importInto(ada, id, text, `source=${format}`)).counts
      const otherId = await newProject()
      expect(await importTo(otherId)).toMatchObject({ created: 4, unchanged: 0 })
      expect(await importTo(otherId)).toMatchObject({ created: 0, unchanged: 4 })
      const values = async (id: string) =>
        (await ada.get(`/tasks?projectId=${id}`)).body.map((task) => [task.title, (task as never)[name]])
      expect(await values(otherId)).toEqual(await values(projectId))
      // The file restores values in its own project.
      await ada.patch(`/tasks/${a.id}`, { [name]: none })
      expect((await importTo(projectId)).updated).toBe(1)
      expect([await valueOf(a.id), await valueOf(b.id)]).toEqual([middle, none])
    },
  )

  test('is shown and filtered by agents, the client and the command line', async () => {
    const { projectId, a } = await place()
    const named = field.values[1]
    const { call, close } = await connect(service, ada.token)
    const find = async (given: object) =>
      (await call<{ tasks: { title: string }[] }>('find', { project: projectId, ...given })).body.tasks
    const shown = { [name]: middle }
    if (isFiltered)
      expect((await find({ [name]: named, fields: 'full' }))[0]).toMatchObject({
        title: 'a',
        ...shown,
      } as never)
    expect((await call('get', { id: a.id })).body).toMatchObject(shown)
    for (const [from] of bounds ? [bounds] : [])
      expect(titles(await find({ [from]: low, ...(index && { sort: `-${name}` }) }))).toStartWith('da')
    await close()
    const docket = new Docket({ url: origin, token: ada.token!, fetch: send })
    expect(newTask({ title: 'i', projectId }) as object).toMatchObject({ [name]: none })
    const stop = new AbortController()
    const mirror = docket.project(projectId).mirror({ signal: stop.signal })
    await mirror.ready
    await docket.tasks.update(a.id, { [name]: high } as object)
    await mirror.reach((await docket.tasks.list({ projectId }).page()).version!)
    expect(mirror.get(a.id)).toEqual(await docket.tasks.get(a.id))
    stop.abort()
    const [token, HOME] = [ada.token!, '/nonexistent']
    const env = { DOCKET_URL: origin, DOCKET_TOKEN: token, DOCKET_PROJECT: projectId, HOME }
    const option = `--${kebab(header.startsWith('own') ? name : header)}`
    const cli = async (...line: string[]) => {
      const { out, err } = await runDocket([...line, '--json'], { fetch: send, env })
      return out ? JSON.parse(out) : err
    }
    // A value that begins with a hyphen needs the form with an equals sign.
    const added = await cli('add', 'j', `${option}=${named}`)
    expect(added[name]).toBe(middle)
    if (none === null) expect((await cli('edit', added.id, option, ''))[name]).toBeNull()
    if (isFiltered) expect(titles(await cli('tasks', `${option}=${field.values[0]}`))).toContain('c')
    for (const [, to] of bounds ? [bounds] : [])
      expect(titles(await cli('tasks', `--${kebab(to)}`, String(high), '--sort', `-${name}`))).toEndWith('c')
    if (declaration.includes("lists: 'lines'"))
      expect((await runDocket(['tasks'], { fetch: send, env })).out).toContain(option.slice(2).toUpperCase())
  })
})

test('searches find the words of a field that declares it, after each write and a fill of the index', async () => {
  const projectId = await newProject()
  const texts = { description: 'wombat', rationale: 'quokka' }
  const { id } = await created('/tasks', { projectId, title: 't', ...texts })
  const found = async (q: string) => titles((await ada.get(`/tasks?projectId=${projectId}&q=${q}`)).body)
  expect([await found('quokka'), await found('wombat quokka')]).toEqual(['t', 't'])
  const { body } = await ada.get(`/search?q=quokka&projectId=${projectId}`)
  expect(body).toMatchObject([{ snippet: { text: 'wombat\nquokka', matches: [[7, 13]] } }] as never)
  await ada.patch(`/tasks/${id}`, { rationale: 'numbat' })
  expect([await found('quokka'), await found('numbat')]).toEqual(['', 't'])
  await refillIndex(projectId)
  expect(await found('numbat wombat')).toBe('t')
})

test('a column with the name of a field belongs to the field, not to another field that has this header too', async () => {
  const projectId = await newProject()
  await importInto(ada, projectId, 'title,details,body\nt,quokka,wombat', 'source=csv')
  const { body } = await ada.get(`/tasks?projectId=${projectId}`)
  expect(body).toMatchObject([{ rationale: 'quokka', description: 'wombat' }] as never)
})

test('the removal of a member clears every field with the member, and its undo sets these fields again', async () => {
  const projectId = await newProject()
  const { id } = await created('/tasks', { projectId, title: 't', reviewerId: carl.id })
  const both = await created('/tasks', { projectId, title: 'u', assigneeId: carl.id, reviewerId: carl.id })
  const users = async () => {
    const rows = await Promise.all([id, both.id].map(dataOf))
    return rows.flatMap(({ assigneeId, reviewerId }) => [assigneeId, reviewerId])
  }
  const { body } = await ada.get(`/projects/${projectId}/members`)
  const member = body.find(({ userId }) => userId === carl.id)!
  const removal = (await versionOf(ada, projectId)) + 1
  await ada.delete(`/projects/${projectId}/members/${member.id}`)
  await eventually('the end of the reviews', async () => (await users()).every((one) => one === null))
  await undo(projectId, removal)
  expect(await users()).toEqual([null, carl.id, carl.id, carl.id])
})

test('a new command runs, and the document has the new field and command', async () => {
  const { id } = await created('/tasks', { title: 'Draw', projectId: await newProject(), estimate: 45 })
  const finished = await ada.post(`/tasks/${id}/finish`)
  expect([finished.status, finished.body.status]).toEqual([200, 'DONE'])
  expect(finished.text).toContain('"estimate":45')
  expect((await ada.get(`/tasks/${id}`)).text).toBe(finished.text)
  const { text } = await ada.get('/../docs/json')
  for (const part of ['A whole number of hours', '/tasks/{id}/finish']) expect(text).toContain(part)
})
