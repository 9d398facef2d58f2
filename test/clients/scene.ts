import { Docket } from '../../clients/typescript/src/docket.ts'
import type { TransportOptions } from '../../clients/typescript/src/transport.ts'
import { register } from '../support/client.ts'
import { forFile, openTestService } from '../support/service.ts'

export const origin = 'http://localhost'

/** Opens a service in this process and a client with the rights of a new user. */
export async function openClientScene(env: Record<string, string> = {}) {
  const service = await forFile(openTestService(env))
  const ada = await register(service.client, 'Ada')
  const send = (url: string, init?: RequestInit) => service.fetch(url.slice(origin.length), init)
  const open = (over: Partial<TransportOptions> = {}) =>
    new Docket({ url: origin, token: ada.token!, fetch: send, ...over })
  return { service, ada, send, open, docket: open() }
}
