import { Type } from '@sinclair/typebox'
import { inParts, Next, type Section, shortened, withSections } from '../answers/pages.ts'
import { withoutEmpty } from '../answers/tasks.ts'
import { read } from '../call.ts'
import { tool } from '../tool.ts'
import { ProjectName } from './arguments.ts'

interface Person {
  name: string
  email: string
}
interface Project {
  id: string
  name: string
  description: string | null
  owner: Person | null
}

const shown = ({ id, name, description, owner }: Project) => ({ id, name, owner: owner?.name, description })

const list: Section<Project> = {
  name: 'projects',
  path: '/projects',
  show(project) {
    const description = shortened(project.description ?? '')
    return [withoutEmpty({ ...shown(project), description })]
  },
}

interface Member {
  user: Person | null
  role: string
}

const section = (name: string, path: string, fields: string[]): Section<Record<string, unknown>> => ({
  ...{ name, path: `${path}/${name}` },
  show: (row) => [withoutEmpty(Object.fromEntries(fields.map((field) => [field, row[field]])))],
})

const inProject = (path: string): Section[] => [
  {
    name: 'members',
    path: `${path}/members`,
    show: ({ user, role }: Member) => [{ name: user?.name ?? null, email: user?.email, role }],
  },
  section('labels', path, ['name']),
  section('fields', path, ['key', 'type', 'options']),
]

export const projects = tool({
  name: 'projects',
  description:
    'List the projects you can read; with `project`, show one with its members, labels and custom fields.',
  scope: 'read',
  input: { project: Type.Optional(ProjectName), next: Next },
  async run({ project, next }, call) {
    if (project === undefined) return withSections(call, { sections: [list as Section], next })
    const path = `/projects/${project}`
    const { body } = await read<Project>(call, path)
    const head = inParts(shown(body), 'description').map(withoutEmpty)
    return withSections(call, { head, sections: inProject(path), next })
  },
})
