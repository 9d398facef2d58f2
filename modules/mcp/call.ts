import { fingerprintBy } from '../../src/http/idempotency.ts'
import { type ApiResponse, type Call, type RequestOptions, ToolError } from './tool.ts'

export type Handle = (request: Request) => Promise<Response>

/** Opens a call. Its requests have the token and the trace headers of the client's request. */
export function openCall(send: Handle, { headers }: Request, signal: AbortSignal): Call {
  const names = ['authorization', 'traceparent']
  const forwarded = names.flatMap((name) => (headers.has(name) ? [[name, headers.get(name)!]] : []))
  return {
    signal,
    async request<T>(method: string, path: string, { body, content, headers: more }: RequestOptions = {}) {
      signal.throwIfAborted()
      // `Request` removes the segments `.` and `..` from a URL, so such an id would select another route.
      if (/\/\.{1,2}(?=[/?]|$)/.test(path))
        throw new ToolError(404, 'No row has this id', 'Find the id with find')
      const text = body === undefined ? undefined : JSON.stringify(body)
      const bodyHeaders = text !== undefined && {
        'content-type': 'application/json',
        'content-length': String(new TextEncoder().encode(text).length),
      }
      const request = new Request(`http://docket/api/v1${path}`, {
        ...{ method, body: text, signal },
        headers: { ...Object.fromEntries(forwarded), ...bodyHeaders, ...more },
      })
      if (content !== undefined) fingerprintBy(request, content)
      return responseOf<T>(await send(request))
    },
  }
}

async function responseOf<T>(response: Response): Promise<ApiResponse<T>> {
  const text = await response.text()
  const body = text === '' ? undefined : JSON.parse(text)
  return { status: response.status, headers: response.headers, body }
}
