import type { Static } from '@sinclair/typebox'
import { Type } from '@sinclair/typebox'
import { Input } from '../../../src/schema/input.ts'
import { cursorOf, read, withQuery } from '../read.ts'
import type { Call, Tool } from '../tool.ts'

const input = Input({ next: Type.Optional(Type.String({ description: '`next` of the previous answer' })) })

interface Project {
  id: string
  name: string
  description: string | null
  role: string
}

export const projects: Tool = {
  name: 'projects',
  description: 'List the projects that you can read, with your role.',
  inputSchema: input,
  scope: 'read',
  annotations: { readOnlyHint: true },
  async run({ next }: Static<typeof input>, call: Call) {
    const page = await read<Project[]>(call, withQuery('/projects', { limit: 50, cursor: next }))
    return { projects: page.body, next: cursorOf(page) }
  },
}
