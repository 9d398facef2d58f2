import { Value } from '@sinclair/typebox/value'
import type { Log } from '../../src/logger.ts'
import { errorBody, HttpError, internalError } from '../../src/responses/errors.ts'
import { validationError } from '../../src/schema/validation.ts'
import { errorOf } from './errors/advice.ts'
import { type Call, type Tool, ToolError } from './tool.ts'

interface ToolResult {
  [name: string]: unknown
  content: { type: 'text'; text: string }[]
  isError?: true
}

interface Dependencies {
  /** Counts the call as in progress until the returned function is called. @throws HttpError 429, 503 */
  acquire(): () => void
  log: Log
}

/** Runs a tool. An error of the tool is part of the result, so that the agent reads it. */
export async function runTool(
  tool: Tool,
  args: unknown,
  call: Call,
  { acquire, log }: Dependencies,
): Promise<ToolResult> {
  let release: (() => void) | undefined
  try {
    release = acquire()
    requireArguments(tool, args)
    return resultOf(await tool.run(args as never, call))
  } catch (error) {
    const known = error instanceof HttpError ? toToolError(error) : error
    if (!(known instanceof ToolError) && !call.signal.aborted)
      log.error({ tool: tool.name, error: String(error) }, 'tool failed')
    const { status, message, details, advice } = known instanceof ToolError ? known : unexpected()
    return { ...resultOf({ error: message, status, ...details, do: advice }), isError: true }
  } finally {
    release?.()
  }
}

const toToolError = (error: HttpError): ToolError =>
  errorOf({ status: error.status, headers: new Headers(error.headers), body: errorBody(error) })

function unexpected(): ToolError {
  const { status, message } = internalError()
  return new ToolError(status, message, 'Send the same call again, with the same key if it has a key')
}

const resultOf = (answer: unknown): ToolResult => ({
  content: [{ type: 'text', text: JSON.stringify(answer) }],
})

/** @throws ToolError 400, which names the nearest argument if a name is unknown */
function requireArguments({ name, inputSchema }: Tool, args: unknown): void {
  if (Value.Check(inputSchema, args)) return
  const { message } = validationError(Value.Errors(inputSchema, args))
  const names = Object.keys(inputSchema.properties).join(', ')
  throw new ToolError(400, message, `Call ${name} again; its arguments are ${names}`)
}
