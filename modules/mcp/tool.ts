import type { TObject } from '@sinclair/typebox'
import type { ErrorDetails } from '../../src/responses/errors.ts'

/** A tool of the MCP endpoint. It sends requests to the API, whose rights, limits and checks apply to the tool. */
export interface Tool {
  name: string
  description: string
  /** Rejects unknown fields. Agents and validation errors show each `description`. */
  inputSchema: TObject
  /** A token with the scope `read` cannot list or call a tool with the scope `write`. */
  scope: 'read' | 'write'
  annotations: { readOnlyHint: boolean; destructiveHint?: boolean; idempotentHint?: boolean }
  /**
   * Returns the answer. The agent receives it as compact JSON.
   * @param args valid for `inputSchema`
   * @throws ToolError
   */
  run(args: never, call: Call): Promise<unknown>
}

/** One call of a tool, with the token of its caller. */
export interface Call {
  /** Sends a request to the API of this service. @param path relative to /api/v1, with its query */
  request<T = unknown>(method: string, path: string, options?: RequestOptions): Promise<ApiResponse<T>>
  /** Aborts when the client has disconnected. */
  readonly signal: AbortSignal
}

export interface RequestOptions {
  /** Sent as JSON. */
  body?: unknown
  /** A retry with the same key must repeat this content. By default the body. */
  content?: unknown
  headers?: Record<string, string>
}

export interface ApiResponse<T = unknown> {
  status: number
  headers: Headers
  /** Undefined if the response has no body. */
  body: T
  details?: ErrorDetails
}

/** The arguments of a call that the advice after an error depends on. */
export interface Sent {
  key?: string
  operations?: unknown[]
  ifVersion?: number
}

/** An error for the agent. `advice` names the next step. */
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
