import { make, openScene } from '../kit.ts'
import { connect } from './mcp-client.ts'

type Called = Awaited<ReturnType<typeof connect>>
interface Expected {
  status: number
  error?: string
  do?: string
  [detail: string]: unknown
}

/** Opens a service with three users, and clients of Ada and Bea. Ada owns the project Engine. */
export async function openMcpScene() {
  const scene = await openScene(['Ada', 'Bea', 'Cay'])
  const open = ({ token }: { token?: string | undefined }) => connect(scene.service, token)
  const [asAda, asBea] = [await open(scene.ada), await open(scene.bea)]
  const engine = await make(scene.ada, '/projects', { name: 'Engine' })
  let count = 0
  const newKey = () => `key ${++count}`
  const newProject = (name = `Project ${++count}`) => make(scene.ada, '/projects', { name })
  const newTask = (projectId = engine.id, over: object = {}) =>
    make(scene.ada, '/tasks', { projectId, title: 'Draw', ...over })
  const apply = (operations: object[], over: object = {}, by: Called = asAda) =>
    by.call<Applied>('apply', { project: 'engine', key: newKey(), operations, ...over })
  return { ...scene, ...asAda, open, asBea, engine, newKey, newProject, newTask, apply }
}

interface Applied {
  version: number
  batch: number
  ids: Record<string, string>
  rows: { id: string; number: number }[]
  candidates: { id: string; names: string[] }[]
  [field: string]: unknown
}

/** Checks that an answer is an error with these fields, and that `error` and `do` contain these texts. */
export function expectError(
  { isError, body }: { isError: boolean; body: unknown },
  expected: Expected,
): void {
  const { error = '', do: advice = '', ...details } = expected
  const texts = { error: expect.stringContaining(error), do: expect.stringContaining(advice) }
  expect({ ...(body as object), isError }).toMatchObject({ isError: true, ...texts, ...details })
}

/** Operations that create tasks with these titles. */
export const creates = (...titles: string[]) => titles.map((title) => ({ op: 'task.create', title }))
