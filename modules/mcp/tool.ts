import type { Static, TObject, TProperties } from '@sinclair/typebox'
import { Input } from '../../src/schema/input.ts'
import type { Call } from './call.ts'

/** A tool of the MCP endpoint. It sends requests to the API, whose rights, limits and checks apply to the tool. */
export interface Tool {
  name: string
  description: string
  /** A token with the scope `read` cannot list or call a tool with the scope `write`. */
  scope: 'read' | 'write'
  hints?: { destructiveHint: boolean; idempotentHint: boolean }
  /** Rejects unknown fields. Agents and validation errors show each `description`. */
  inputSchema: TObject
  /** Returns the answer. @throws HttpError, ToolError */
  run(args: never, call: Call): Promise<object>
}

interface Definition<Fields extends TProperties> extends Omit<Tool, 'inputSchema' | 'run'> {
  input: Fields
  /** @param args valid, and `project` and the names of users and labels are replaced by ids */
  run(args: Static<TObject<Fields>>, call: Call): Promise<object>
}

export const tool = <Fields extends TProperties>({ input, ...definition }: Definition<Fields>): Tool => ({
  ...definition,
  inputSchema: Input(input) as TObject,
})

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
