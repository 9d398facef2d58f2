import { type Docket, type Event, DocketError, type Task } from '../../../typescript/src/index.ts'
import type { Column } from '../terminal/table.ts'
import { localTime, printable } from '../terminal/text.ts'

const maxRemembered = 10_000
const maxValueCharacters = 60
const hidden = ['id', 'projectId', 'taskId', 'createdAt', 'updatedAt']

type Values = Record<string, unknown> | null

/** Returns the number and title of an event's task. Reads each task once, because events contain only changed fields. */
export class TaskNames {
  readonly #names = new Map<string, string>()

  constructor(private readonly docket: Docket) {}

  /** Stores the number and title of the task if the event contains them. */
  learn({ taskId, entity, before, after }: Event): void {
    const { number, title } = { ...(before as Values), ...(after as Values) } as Partial<Task>
    if (taskId && entity === 'task' && number !== undefined && title !== undefined)
      this.#remember(taskId, nameOf({ number, title }))
  }

  /** Returns, for example, `#42 Draw the plate`. Returns only the id if the task cannot be read. */
  async of(event: Event): Promise<string> {
    const { taskId } = event
    if (!taskId) return ''
    this.learn(event)
    return this.#names.get(taskId) ?? this.#read(taskId)
  }

  #remember(taskId: string, name: string): string {
    if (this.#names.size >= maxRemembered) this.#names.clear()
    this.#names.set(taskId, name)
    return name
  }

  async #read(id: string): Promise<string> {
    try {
      return this.#remember(id, nameOf(await this.docket.tasks.get(id)))
    } catch (error) {
      if (error instanceof DocketError) return id
      throw error
    }
  }
}

const nameOf = ({ number, title }: Pick<Task, 'number' | 'title'>) => `#${number} ${title}`

/** Returns the change of an event, for example `status TODO → DONE`. */
function changeOf({ before, after, undoes, failed, reason }: Event): string {
  const [old, now] = [before as Values, after as Values]
  const failure = failed ? `failed: ${reason ? shown(reason) : 'no reason'}; ` : ''
  const undone = undoes ? `undoes ${undoes}: ` : failure
  if (old && now) {
    const names = Object.keys(now).filter((name) => !hidden.includes(name))
    return undone + names.map((name) => `${name} ${shown(old[name])} → ${shown(now[name])}`).join(', ')
  }
  const { title, text, name, user } = (now ?? old ?? {}) as Record<string, unknown>
  const person = (user as { name?: string } | null | undefined)?.name
  return undone + shown(title ?? text ?? name ?? person ?? '')
}

function shown(value: unknown): string {
  const text = typeof value === 'string' ? value : value == null ? 'none' : JSON.stringify(value)
  return text.length > maxValueCharacters ? `${text.slice(0, maxValueCharacters)}…` : text
}

interface Line {
  event: Event
  task: string
}

export const eventColumns: Column<Line>[] = [
  { title: 'SEQ', value: ({ event }) => event.seq },
  { title: 'AT', value: ({ event }) => localTime(event.at) },
  { title: 'BY', value: ({ event }) => event.actor.name, isFlexible: true },
  { title: 'EVENT', value: ({ event }) => event.type },
  { title: 'TASK', value: ({ task }) => task, isFlexible: true },
  { title: 'CHANGE', value: ({ event }) => changeOf(event), isFlexible: true },
]

export async function eventRows(docket: Docket, events: Event[]): Promise<Line[]> {
  const names = new TaskNames(docket)
  for (const event of events) names.learn(event)
  const rows: Line[] = []
  for (const event of events) rows.push({ event, task: await names.of(event) })
  return rows
}

/** Returns the line of an event in `docket tail`. */
export const eventLine = (event: Event, task: string): string =>
  [event.seq, localTime(event.at), event.actor.name, event.type, task, changeOf(event)]
    .flatMap((part) => (part ? printable(String(part)) : []))
    .join('  ')
