import { make, openWebProcess, requestHead, sendRaw } from '../kit.ts'

export async function openRawClient(overrides: Record<string, string> = {}) {
  const { env, web, ada, close } = await openWebProcess(overrides)
  const { id: projectId } = await make(ada, '/projects', { name: 'Sockets' })
  const withToken = { Authorization: `Bearer ${ada.token}` }
  return {
    ...{ env, web, ada, projectId, withToken },
    send: (method: string, path: string, headers: Record<string, string | number> = {}, ...body: string[]) =>
      sendRaw(web.url, requestHead(method, path, { ...withToken, ...headers }), ...body),
    async close(): Promise<void> {
      expect(await web.stop()).toBe(0)
      await close()
    },
  }
}
