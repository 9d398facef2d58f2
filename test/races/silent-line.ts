import type { Socket } from 'node:net'
import { openTcpProxyTo } from '../kit.ts'

/** A proxy that can go silent: it accepts data, forwards nothing and closes no connection. */
export async function openSilentLine(serverUrl: string) {
  const clients = new Set<Socket>()
  const silenced = new WeakSet<Socket>()
  let isSilent = false
  const { url, close, cut } = await openTcpProxyTo(serverUrl, {
    onOpen({ client }) {
      clients.add(client)
      if (isSilent) silenced.add(client)
    },
    intercept: (_, __, { client }) => silenced.has(client),
    hidesClose: ({ client }) => silenced.has(client),
  })
  const silenceOpen = () => clients.forEach((client) => silenced.add(client))
  return {
    ...{ url, close, cut },
    /** Silences all open connections forever; new connections work. */
    silenceOpen,
    /** Silences all open and new connections until `speak` is called. */
    silence() {
      isSilent = true
      silenceOpen()
    },
    speak: () => void (isSilent = false),
  }
}
