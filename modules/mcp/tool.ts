import type { TObject } from '@sinclair/typebox'

/** A tool of the MCP endpoint. Its rights, limits, costs and checks are those of the routes that it requests. */
export interface Tool {
  name: string
  description: string
  /** Without unknown fields. Agents read each `description`, and validation errors contain it. */
  inputSchema: TObject
  /** A token with the scope `read` neither sees nor calls a tool with the scope `write`. */
  scope: 'read' | 'write'
  annotations: { readOnlyHint: boolean; destructiveHint?: boolean; idempotentHint?: boolean }
  /**
   * Returns the answer, which is sent as compact JSON.
   * @param args fits `inputSchema`
   * @throws ToolError
   */
  run(args: never, call: Call): Promise<unknown>
}

/** One call of a tool, with the token of its caller. */
export interface Call {
  /** Sends a request to the service itself. @param path relative to /api/v1, with its query */
  request<T = unknown>(method: string, path: string, options?: RequestOptions): Promise<Answer<T>>
  /** Aborts when the client has disconnected. */
  readonly signal: AbortSignal
}

export interface RequestOptions {
  /** Sent as JSON. */
  body?: unknown
  /** What a repeat has in common with the first request, if its body may differ. */
  content?: unknown
  headers?: Record<string, string>
}

export interface Answer<T = unknown> {
  status: number
  headers: Headers
  /** Undefined if the response has no body. */
  body: T
}

/** An error that the agent reads. `advice` says what to do next. */
export class ToolError extends Error {
  constructor(
    readonly status: number,
    message: string,
    readonly advice: string,
    /** Further fields of the answer. */
    readonly details: object = {},
  ) {
    super(message)
  }
}
