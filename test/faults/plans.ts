import type { Plan, Planner } from './plan.ts'
import * as children from './plan-children.ts'
import * as projects from './plan-projects.ts'
import * as tasks from './plan-tasks.ts'
import { undo } from './plan-undos.ts'
import type { Random } from './random.ts'
import type { World } from './world.ts'

const planners = { ...tasks, ...children, ...projects, undo } satisfies Record<string, Planner>

const weights: Record<keyof typeof planners, number> = {
  ...{ createBatch: 6, createTask: 10, patchTask: 12, moveTask: 5, deleteTask: 3 },
  ...{ addSubtask: 6, toggleSubtask: 8, patchSubtask: 3, deleteSubtask: 2 },
  ...{ addComment: 5, editComment: 3, deleteComment: 2 },
  ...{ inviteMember: 4, setRole: 3, removeMember: 2 },
  ...{ createProject: 1, patchProject: 1, deleteProject: 0.7 },
  ...{ undo: 10, getTask: 15, listTasks: 12, readHistory: 4 },
}

export function planNext(world: World, random: Random): Plan {
  for (;;) {
    const plan = planners[random.weighted(weights)](world, random)
    if (plan) return plan
  }
}
