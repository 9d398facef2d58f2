import { fingerprintBy } from '../../src/http/idempotency.ts'
import { type Answer, type Call, type RequestOptions, ToolError } from './tool.ts'
import { turn } from './turns.ts'

export type Handle = (request: Request) => Promise<Response>

/** Opens a call whose requests have the token and the trace of the client's `request`. */
export function openCall(send: Handle, { headers }: Request, signal: AbortSignal): Call {
  const names = ['authorization', 'traceparent']
  const given = names.flatMap((name) => (headers.has(name) ? [[name, headers.get(name)!]] : []))
  return {
    signal,
    async request<T>(method: string, path: string, { body, content, headers: more }: RequestOptions = {}) {
      signal.throwIfAborted()
      // A URL has no segments of dots, so an id of dots would lead to another route.
      if (/\/\.{1,2}(?=[/?]|$)/.test(path))
        throw new ToolError(404, 'No row has this id', 'Find the id with find')
      const text = body === undefined ? undefined : JSON.stringify(body)
      const ofBody = text !== undefined && {
        'content-type': 'application/json',
        'content-length': String(new TextEncoder().encode(text).length),
      }
      const inner = new Request(`http://docket/api/v1${path}`, {
        ...{ method, body: text, signal },
        headers: { ...Object.fromEntries(given), ...ofBody, ...more },
      })
      if (content !== undefined) fingerprintBy(inner, content)
      return answerOf<T>(await send(inner))
    },
  }
}

async function answerOf<T>(response: Response): Promise<Answer<T>> {
  const text = await response.text()
  await turn()
  const body = text === '' ? undefined : JSON.parse(text)
  return { status: response.status, headers: response.headers, body }
}
