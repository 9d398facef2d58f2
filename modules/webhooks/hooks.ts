import { ForbiddenUrl } from '../../src/outbound/destination.ts'
import { requireRetained } from '../../src/reads/retention.ts'
import type { Services } from '../../src/services.ts'
import { badUrl } from './commands.ts'
import { newSecret } from './send.ts'

/** A host name that does not resolve within this time is accepted, and is checked at the first delivery. */
const resolveMs = 2_000

/** Creates secrets and checks URLs before rules run, because rules do no I/O. Notifies workers of each change. */
export function webhookHooks({ oldestSeq, outbound, encryption, webhookNotifications }: Services) {
  const after = ({ projectId }: { projectId: string }) =>
    webhookNotifications.publish([{ projectId, version: 0 }])
  const newSealed = () => ({ secret: encryption.encrypt(newSecret()) })

  async function checked({ url }: { url?: string }) {
    if (url === undefined) return {}
    const destination = await outbound.destinations.check(url, resolveMs).catch((error: unknown) => {
      throw error instanceof ForbiddenUrl ? badUrl(error.message) : error
    })
    return { url: destination.href }
  }

  const creation = async (input: { url: string }) => ({ ...(await checked(input)), ...newSealed() })
  const replay = (input: { projectId: string; after: number }) =>
    requireRetained(oldestSeq, input.projectId, input.after)

  return {
    creating: { prepare: creation, after },
    updating: { prepare: checked, after },
    rotating: { prepare: async () => newSealed(), after },
    replaying: { prepare: replay, after },
    deleting: { after },
  }
}
