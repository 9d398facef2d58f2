import { type Answer, type Call, ToolError } from './tool.ts'

/** Returns the response to a GET. @throws ToolError with the status of the response */
export const read = async <T>(call: Call, path: string): Promise<Answer<T>> =>
  successful(await call.request<T>('GET', path))

/** @throws ToolError if the status of the response is 400 or higher */
export function successful<T>(answer: Answer<T>): Answer<T> {
  if (answer.status < 400) return answer
  const { message } = answer.body as { message: string }
  throw new ToolError(answer.status, message, adviceOf(answer.status))
}

function adviceOf(status: number): string {
  if (status === 429 || status === 503) return 'Wait a second, then send the same call again'
  if (status === 404) return 'Check the id; `projects` and `find` list what the token can see'
  return 'Correct the arguments, then call the tool again'
}

/** Returns `path` with the parameters that have a value. */
export function withQuery(path: string, parameters: object): string {
  const given = Object.entries(parameters).filter(([, value]) => value !== undefined)
  const query = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString()
  return query ? `${path}?${query}` : path
}

/** Returns the cursor of the next page; undefined on the last page. */
export const cursorOf = ({ headers }: Answer): string | undefined =>
  /[?&]cursor=([^&>]*)[^>]*>; rel="next"/.exec(headers.get('link') ?? '')?.[1]
