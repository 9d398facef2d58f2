import { connect, type Socket } from 'node:net'
import { forFile, make, openClient, openDatabase, openWebProcess, readConfig, register } from '../../kit.ts'
import { requestHead, sendRaw } from '../../kit.ts'

/** Opens a web process until the end of the file, to which tests send files over raw sockets. */
export async function openSocketScene(bodyTimeoutMs: number) {
  const { web, env } = await openWebProcess({ BODY_TIMEOUT_MS: String(bodyTimeoutMs) })
  const { background: sql } = await forFile(openDatabase(readConfig(env)))
  const open = (): Socket => connect(Number(new URL(web.url).port), '127.0.0.1')

  async function newProject() {
    const owner = await register(openClient(web.url))
    const { id } = await make(owner, '/projects', { name: 'P' })
    const path = `/api/v1/projects/${id}/imports?source=csv`
    const head = (headers: Record<string, string | number>) =>
      requestHead('POST', path, { Authorization: `Bearer ${owner.token}`, ...headers })
    return {
      owner,
      id,
      path,
      head,
      send: (headers: Record<string, string | number>, ...body: string[]) =>
        sendRaw(web.url, head(headers), ...body),
    }
  }

  return { web, sql, open, newProject }
}

export const firstAnswer = (socket: Socket) =>
  new Promise<string>((resolve) => socket.once('data', (data) => resolve(String(data))))
