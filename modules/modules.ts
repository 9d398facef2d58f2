import { defineModel } from '../src/model/model.ts'
import { comments } from './comments/routes.ts'
import { members } from './members/routes.ts'
import { projects } from './projects/routes.ts'
import { serviceAccount, token } from './service-accounts/entity.ts'
import { subtasks } from './subtasks/routes.ts'
import { tasks } from './tasks/routes.ts'
import { webhook } from './webhooks/entity.ts'

/** The modules with an entity, commands and queries. This list is the only place where a new module is added. */
export const modules = [projects, members, tasks, subtasks, comments]

export const model = defineModel([...modules.map(({ entity }) => entity), webhook, serviceAccount, token])
