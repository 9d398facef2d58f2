import { type Static, Type } from '@sinclair/typebox'
import { Input } from '../../../src/schema/input.ts'
import { Next, type Section, withSections, cut } from '../answers/pages.ts'
import { withoutEmpty } from '../answers/tasks.ts'
import { projectIdOf } from '../names/references.ts'
import { read } from '../requests.ts'
import { type Call, type Tool } from '../tool.ts'
import { ProjectName } from './arguments.ts'

const input = Input({ project: Type.Optional(ProjectName), next: Next })

interface Project {
  id: string
  name: string
  description: string | null
  owner: Person | null
}
interface Person {
  name: string
  email: string
}
interface Member {
  user: Person | null
  role: string
}
interface Field {
  key: string
  type: string
  options?: string[] | null
}

const shown = ({ id, name, description, owner }: Project, from?: number) => {
  const { text, cutAt } = cut(description, from)
  const names = { id, name, owner: owner?.name }
  return { row: from ? { id, description: text } : withoutEmpty({ ...names, description: text }), cutAt }
}

const inProject = (path: string): Section[] => [
  {
    name: 'members',
    path: `${path}/members`,
    show: ({ user, role }: Member) => ({ row: { name: user?.name ?? null, email: user?.email, role } }),
  },
  { name: 'labels', path: `${path}/labels`, show: ({ name }: Project) => ({ row: { name } }) },
  {
    name: 'fields',
    path: `${path}/fields`,
    show: ({ key, type, options }: Field) => ({ row: withoutEmpty({ key, type, options }) }),
  },
]

export const projects: Tool = {
  name: 'projects',
  description:
    'List the projects you can read; with `project`, show one with its members, labels and custom fields.',
  inputSchema: input,
  scope: 'read',
  annotations: { readOnlyHint: true },
  async run({ project, next }: Static<typeof input>, call: Call) {
    if (project === undefined) {
      const list = { name: 'projects', path: '/projects', show: shownInList }
      return withSections(call, () => ({ row: {} }), [list], next)
    }
    const path = `/projects/${await projectIdOf(call, project)}`
    const { body } = await read<Project>(call, path)
    return withSections(call, (from) => shown(body, from), inProject(path), next)
  },
}

const shownInList = (project: Project) => {
  const { row, cutAt } = shown(project)
  const { description, ...names } = row as { description?: string }
  return {
    row: description === undefined ? row : { ...names, description: cutAt ? `${description}…` : description },
  }
}
