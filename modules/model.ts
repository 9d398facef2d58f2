import { defineModel } from '../src/model/model.ts'
import { comment } from './comments/entity.ts'
import { member } from './members/entity.ts'
import { project } from './projects/entity.ts'
import { serviceAccount, token } from './service-accounts/entity.ts'
import { subtask } from './subtasks/entity.ts'
import { task } from './tasks/entity.ts'
import { webhook } from './webhooks/entity.ts'

/** All entities of the service. */
export const model = defineModel([project, member, task, subtask, comment, webhook, serviceAccount, token])
