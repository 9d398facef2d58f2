import { Value } from '@sinclair/typebox/value'
import type { Log } from '../../src/log.ts'
import { internalError } from '../../src/responses/errors.ts'
import { validationError } from '../../src/schema/validation.ts'
import { type Call, type Tool, ToolError } from './tool.ts'

interface ToolResult {
  [name: string]: unknown
  content: { type: 'text'; text: string }[]
  isError?: true
}

/** Runs a tool. An error of the tool is part of the result, so that the agent reads it. */
export async function runTool(tool: Tool, args: unknown, call: Call, log: Log): Promise<ToolResult> {
  try {
    requireArguments(tool, args)
    return resultOf(await tool.run(args as never, call))
  } catch (error) {
    if (!(error instanceof ToolError)) return unexpected(tool, error, call, log)
    const { status, message, details, advice } = error
    return { ...resultOf({ error: message, status, ...details, do: advice }), isError: true }
  }
}

function unexpected(tool: Tool, error: unknown, { signal }: Call, log: Log): ToolResult {
  if (!signal.aborted) log.error({ tool: tool.name, error: String(error) }, 'tool failed')
  const { status, message } = internalError()
  return {
    ...resultOf({
      error: message,
      status,
      do: 'Send the same call again, with the same key if it has a key',
    }),
    isError: true,
  }
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
