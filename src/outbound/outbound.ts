import type { Config } from '../config.ts'
import { openDestinations } from './destination.ts'
import { openPost } from './post.ts'

/** How long a receiver has for its answer. */
const timeoutMs = 15_000

export type Outbound = ReturnType<typeof openOutbound>

/** Requests that callers ask for: where they may go, and the way there. */
export function openOutbound({
  webhookAllowHttp: allowHttp,
  webhookAllowPrivate: allowPrivate,
}: Pick<Config, 'webhookAllowHttp' | 'webhookAllowPrivate'>) {
  const destinations = openDestinations({ allowHttp, allowPrivate })
  return { destinations, post: openPost(destinations, { timeoutMs }) }
}
