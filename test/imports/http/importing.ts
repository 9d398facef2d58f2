import type { Person } from '../../kit.ts'
import { openImportScene, start } from './scene.ts'

interface Options {
  mapping?: object
  dryRun?: boolean
  into?: { owner: Person; projectId: string }
}

type Row = Record<string, unknown>

interface Ended {
  id: string
  state: string
  error: string | null
  startedAt: string
  counts: Record<string, number>
  mapping: { statuses?: object; columns?: object }
}

/** Opens a service with workers. `importFile` imports a file, and reads what the import wrote. */
export async function openImporting() {
  const scene = await openImportScene()
  scene.service.startWorkers()

  async function ended(owner: Person, id: string): Promise<Ended> {
    for (;;) {
      const { body } = await owner.get(`/imports/${id}`)
      const now = body as unknown as Ended
      if (now.state !== 'queued' && now.state !== 'running') return now
      await Bun.sleep(20)
    }
  }

  async function importFile(
    source: string,
    file: string | object,
    { mapping, dryRun = false, into }: Options = {},
  ) {
    const { owner, projectId } = into ?? (await scene.newProject())
    const text = typeof file === 'string' ? file : JSON.stringify(file)
    const query = `?source=${source}&dryRun=${dryRun}&mapping=${encodeURIComponent(JSON.stringify(mapping ?? {}))}`
    const { body } = await start(owner, projectId, text, query)
    const result = await ended(owner, body.id)
    const list = async (path: string) => (await owner.get(path)).body as unknown as Row[]
    const lines = await list(`/imports/${body.id}/report?limit=200`)
    const labels = new Map((await list(`/projects/${projectId}/labels`)).map(({ id, name }) => [id, name]))
    const tasks: Row[] = await Promise.all(
      (await list(`/tasks?projectId=${projectId}&limit=200`)).map(async (task) => ({
        ...task,
        labels: (task.labelIds as string[]).map((id) => labels.get(id)),
        subtasks: await list(`/tasks/${task.id}/subtasks`),
        comments: await list(`/tasks/${task.id}/comments`),
      })),
    )
    const messages = lines.map(({ message }) => String(message))
    return { ...result, owner, projectId, tasks, lines, messages }
  }
  return { ...scene, importFile, ended }
}
