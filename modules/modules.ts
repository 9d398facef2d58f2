import { defineModel } from '../src/model/model.ts'
import { comments } from './comments/routes.ts'
import { fields } from './fields/routes.ts'
import { labels } from './labels/routes.ts'
import { members } from './members/routes.ts'
import { projects } from './projects/routes.ts'
import { serviceAccount, token } from './service-accounts/entity.ts'
import { subtasks } from './subtasks/routes.ts'
import { tasks } from './tasks/routes.ts'
import { views } from './views/routes.ts'
import { webhook } from './webhooks/entity.ts'

/** The modules that declare an entity with its commands and reads, in the order of the OpenAPI document. */
export const modules = [projects, members, tasks, subtasks, comments, labels, fields, views]

export const model = defineModel([...modules.map(({ entity }) => entity), webhook, serviceAccount, token])
