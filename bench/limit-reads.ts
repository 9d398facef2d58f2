// One prepared query for each request of the service: it reads the row, and checks that the caller may see the row. No
// service can query less.

const spread = (name: string, count: number) => `\\set ${name} random(1, ${count})\n`
const seen = (user: string) => `left join members m on m.project_id = p.id and m.user_id = ${user}
where (p.owner_id = ${user} or m.role is not null)`
const seenProject = `${seen('(bench.owners())[:p]')} and p.id = (bench.projects())[:p]`

const task = `select t.* from tasks t join projects p on p.id = t.project_id
${seen('(bench.task_owners())[:t]')} and t.id = (bench.tasks())[:t];
`

const project = `select p.* from projects p ${seenProject};
`

const tasks = `select t.* from tasks t
where t.project_id = (bench.projects())[:p] and exists (select from projects p ${seenProject})
order by t.id limit 20;
`

/** The query of an unchanged list, if its project has a version. */
const version = `select s.version from projects p join streams s on s.project_id = p.id ${seenProject};
`

const projects = `select * from projects where owner_id = (bench.owners())[:p]
union all select p.* from members m join projects p on p.id = m.project_id
where m.user_id = (bench.owners())[:p]
order by id limit 1000;
`

export const limitReads = {
  task: (count: number) => spread('t', count) + task,
  project: (count: number) => spread('p', count) + project,
  tasks: (count: number) => spread('p', count) + tasks,
  version: (count: number) => spread('p', count) + version,
  projects: (count: number) => spread('p', count) + projects,
}
