import { changesOf, eventually, expectError, expectUndone, faultsOf, holdTransaction, make } from '../kit.ts'
import { newId, openUndoScene, runBatch, upTo } from '../kit.ts'
import type { Answer, Body } from '../kit.ts'

const scene = await openUndoScene()
const { ada, batch, sql, undo, version } = scene
beforeEach(async () => void (await scene.setUp()))

/** The lists of ids of a task. Before each test, there is a project with a task, events 1 and 2. */
const lists = [
  {
    ...{ field: 'labelIds', add: 'addLabelIds', remove: 'removeLabelIds', of: 'labels', op: 'label.create' },
    create: (name: string, projectId = scene.project.id) =>
      make(ada, `/projects/${projectId}/labels`, { name }),
    path: (id: string) => `/labels/${id}`,
    named: (name: string) => ({ name }),
  },
  {
    ...{ field: 'blockedByIds', add: 'addBlockedByIds', remove: 'removeBlockedByIds', of: 'tasks' },
    op: 'task.create',
    create: (title: string, projectId = scene.project.id) => make(ada, '/tasks', { title, projectId }),
    path: (id: string) => `/tasks/${id}`,
    named: (title: string) => ({ title }),
  },
]

describe.each(lists)('$field', ({ field, add, remove, of, op, create, path, named }) => {
  const idsIn = (body: Body) => (body as unknown as Record<string, string[]>)[field]
  const shown = async (query = '') => idsIn((await ada.get(`/tasks/${scene.task.id}${query}`)).body)
  const send = (fields: object) => ada.patch(`/tasks/${scene.task.id}`, fields)
  const patch = async (fields: object) => {
    const { status, text, body } = await send(fields)
    expect([status, text]).toEqual([200, text])
    return idsIn(body)
  }
  const createAll = async (...names: string[]) => {
    const ids: string[] = []
    for (const name of names) ids.push((await create(name)).id)
    return ids as [string, string, string]
  }
  const etagOf = ({ headers }: Answer) => headers.get('etag')!

  test('has the order that the client sent; ids are added at the end; the same ids again write no event', async () => {
    expect(idsIn(scene.task)).toEqual([])
    const [a, b, c] = await createAll('a', 'b', 'c')
    const fields = { title: 'T', projectId: scene.project.id, [field]: [c, a.toUpperCase()] }
    const made = await make(ada, '/tasks', fields)
    expect(idsIn(made)).toEqual([c, a])
    const steps: [change: object, ids: string[]][] = [
      [{ [field]: [b, a, c] }, [b, a, c]],
      [{ [field]: [b, a, c], title: 'T' }, [b, a, c]],
      [{ [add]: [b], [remove]: [newId()] }, [b, a, c]],
      [{ [remove]: [a, b] }, [c]],
      [{ [add]: [a, c, b] }, [c, a, b]],
      [{ [add]: [b], [remove]: [c] }, [a, b]],
      [{ title: 'U' }, [a, b]],
      [{ [field]: [] }, []],
    ]
    const seen: [seq: number, ids: string[]][] = []
    for (const [change, ids] of steps) {
      expect([change, await patch(change)]).toEqual([change, ids])
      seen.push([await version(), ids])
    }
    expect(seen.map(([seq]) => seq - seen[0]![0])).toEqual([0, 0, 0, 1, 2, 3, 4, 5])
    for (const [seq, ids] of seen) expect(await shown(`?asOf=${seq}`)).toEqual(ids)
    const { body } = await ada.get(`/tasks?projectId=${scene.project.id}`)
    expect([idsIn(body.find(({ id }) => id === made.id)!), await shown()]).toEqual([[c, a], []])
    expect(await faultsOf(sql)).toEqual([])
  })

  test('rejects unknown, repeated and too many ids with 400, and a list together with its edits', async () => {
    const [a] = await createAll('a')
    const foreign = await create('a', (await make(ada, '/projects', { name: 'Q' })).id)
    for (const name of [field, add]) {
      const unknown = `${name} must be the ids of ${of} in the project`
      for (const id of [foreign.id, newId(), scene.project.id, 'x', '\0'])
        expectError(await send({ [name]: [a, id] }), 400, unknown)
      expectError(await send({ [name]: [a, a.toUpperCase()] }), 400, unknown)
      const invalid = `${name} must be a list of at most 50 ids of ${of}, without duplicates`
      for (const ids of [[a, a], upTo(51).map(() => newId()), a, null, [7]])
        expectError(await send({ [name]: ids }), 400, invalid)
      for (const id of [newId(), 'x']) {
        const operation = { op: 'task.update', id: scene.task.id, [name]: [a, id] }
        expectError(await batch([operation]), 400, `operations[0]: ${unknown}`)
      }
    }
    const fields = { title: 'T', projectId: scene.project.id, [field]: [foreign.id] }
    expectError(await ada.post('/tasks', fields), 400, `${field} must be the ids of ${of} in the project`)
    for (const edit of [add, remove])
      expectError(await send({ [field]: [], [edit]: [a] }), 400, `Send ${field}, or ${add} and ${remove}`)
  })

  test('has at most 50 ids; one more gets 409 until one is removed or its row is deleted', async () => {
    const operations = upTo(51).map((n) => ({ op, ...named(`N${n}`) }))
    const ids = (await runBatch(ada, scene.project.id, operations)).map(({ id }) => id)
    await patch({ [field]: ids.slice(0, 50) })
    expectError(await send({ [add]: [ids[50]] }), 409, `A task has at most 50 ${field}`)
    expect(await patch({ [add]: [ids[50]], [remove]: [ids[0]] })).toEqual(ids.slice(1))
    await ada.delete(path(ids[1]!))
    expect(await patch({ [add]: [ids[0]] })).toEqual([...ids.slice(2), ids[0]!])
    expect(await faultsOf(sql)).toEqual([])
  })

  test('a deleted row disappears from every response at once, ETags change, and an undo restores it', async () => {
    const [a, b] = await createAll('a', 'b')
    await patch({ [field]: [a, b] })
    const paths = [`/tasks/${scene.task.id}`, `/tasks?projectId=${scene.project.id}`]
    const etags = () => Promise.all(paths.map(async (one) => etagOf(await ada.get(one))))
    const before = await etags()
    await ada.delete(path(a))
    const [seq, during] = [await version(), await etags()]
    for (const n of [0, 1]) expect(during[n]).not.toBe(before[n]!)
    expect(idsIn((await ada.get(paths[1]!)).body[0]!)).toEqual([b])
    for (const query of ['', `?asOf=${seq}`]) expect(await shown(query)).toEqual([b])
    expect(await shown(`?asOf=${seq - 1}`)).toEqual([a, b])
    expectError(await send({ [add]: [a] }), 400)
    const renamed = await send({ title: 'U' })
    expect([idsIn(renamed.body), etagOf(await ada.get(paths[0]!))]).toEqual([[b], etagOf(renamed)])
    expect(await patch({ [field]: [b] })).toEqual([b])
    const { changes } = expectUndone(await undo({ seq }))
    expect(changes.map(({ undoes }) => undoes)).toEqual([seq])
    expect(await shown()).toEqual([a, b])
    expect(await shown(`?asOf=${seq + 1}`)).toEqual([b])
    expect(await faultsOf(sql)).toEqual([])
  })

  test('changes are undone, also if a row was deleted in between, unless the list changed later', async () => {
    const [a, b] = await createAll('a', 'b')
    await patch({ [add]: [a, b] })
    const added = await version()
    await ada.delete(path(a))
    const undone = changesOf(expectUndone(await undo({ seq: added })))
    expect([undone, await shown()]).toEqual([[`task.updated ${added}`], []])
    expectUndone(await undo({ seq: added + 1 }))
    expect(await shown()).toEqual([])
    expectUndone(await undo({ seq: added + 2 }))
    expect(await shown()).toEqual([a, b])
    await patch({ [remove]: [a] })
    const removed = await version()
    await patch({ [add]: [a] })
    expectError(await undo({ seq: removed }), 409, RegExp(field))
    expectError(await undo({ seq: 2 }), 409, RegExp(`${field} changed since`))
    expect(await faultsOf(sql)).toEqual([])
  })
})

test('changes of a blocked task in the same commit as the undo that restores the task show its blockers', async () => {
  const { id: projectId } = scene.project
  const create = (fields: object) => make(ada, '/tasks', { title: 'T', projectId, ...fields })
  const blockersIn = ({ body }: Answer) => (body as unknown as { blockedByIds: string[] }).blockedByIds
  const { id: blocker } = await create({})
  const { id } = await create({ blockedByIds: [blocker] })
  const other = await make(ada, '/projects', { name: 'Other' })
  const { actors, database } = scene.service.services
  const untilWaiting = (count: number) =>
    eventually(`${count} waiting writes`, () => actors.load().waiting === count)
  for (const _ of upTo(5)) {
    await ada.delete(`/tasks/${id}`)
    const seq = await version()
    // After the arrival of a task, the process forgets the rows of the project.
    await ada.patch(`/tasks/${(await create({ projectId: other.id })).id}`, { projectId })
    const release = await holdTransaction(
      database.background,
      (tx) => tx`select from streams where project_id = ${projectId} for update`,
    )
    // The undo and the changes wait together until the first write is committed.
    const first = create({})
    await untilWaiting(1)
    const undone = undo({ seq })
    await untilWaiting(2)
    const changes = upTo(5).map((n) => ada.patch(`/tasks/${id}`, { title: `U${n}` }))
    await untilWaiting(7)
    await release()
    await first
    expectUndone(await undone)
    for (const answer of await Promise.all(changes))
      expect([answer.status, blockersIn(answer)]).toEqual([200, [blocker]])
  }
  await ada.delete(`/tasks/${blocker}`)
  expect(blockersIn(await ada.patch(`/tasks/${id}`, { title: 'W' }))).toEqual([])
})
