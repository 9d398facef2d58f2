import { allPages, type Body, make, openWebProcess, read } from '../kit.ts'

const own = await openWebProcess()

type ShallContinue = (tasks: Map<string, Body>, seen: number) => boolean | Promise<boolean>
type Follow = (
  server: string,
  token: string,
  projectId: string,
  shallContinue: ShallContinue,
) => Promise<void>

function exampleCode(): Follow {
  const [, code] = /^export (async function follow[^]*?^\})$/m.exec(read('docs/feed.md').text) ?? []
  return new Function(`${code}; return follow`)()
}

test("the example client of the feed page ends with exactly the project's tasks", async () => {
  const { web, ada } = own
  const [project, other] = [
    await make(ada, '/projects', { name: 'Engine' }),
    await make(ada, '/projects', { name: 'Mill' }),
  ]
  const add = (projectId = project.id) => make(ada, '/tasks', { title: 'Draw', projectId })
  const coming = await add(other.id)
  await make(ada, `/tasks/${coming.id}/comments`, { text: 'Oil it' })
  const [first, second, third] = [await add(), await add(), await add()]
  for (let i = 0; i < 60; i++) await add()
  const writes = [
    () => ada.patch(`/tasks/${first.id}`, { status: 'DONE' }),
    () => ada.delete(`/tasks/${second.id}`),
    () => ada.patch(`/tasks/${third.id}`, { projectId: other.id }),
    () => ada.patch(`/tasks/${coming.id}`, { projectId: project.id }),
    () => ada.patch(`/tasks/${coming.id}`, { title: 'Mill' }),
    () => add(),
  ]
  let known: Body[] = []
  let version = 64
  await exampleCode()(web.url, ada.token!, project.id, async (tasks, seen) => {
    expect(seen).toBe(version++)
    known = [...tasks.values()]
    const write = writes.shift()
    await write?.()
    return write !== undefined
  })
  const byNumber = (tasks: Body[]) => tasks.sort((a, b) => a.number - b.number)
  expect(byNumber(known)).toEqual(byNumber((await allPages(ada, `/tasks?projectId=${project.id}`)).flat()))
})
