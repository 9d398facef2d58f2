-- One statement, which reads the rows and checks that the caller may see them: no service can do less.
\set t random(1, :tasks)
select t.* from tasks t join projects p on p.id = t.project_id
left join members m on m.project_id = p.id and m.user_id = (bench.task_owners())[:t]
where (p.owner_id = (bench.task_owners())[:t] or m.role is not null)
  and t.id = (bench.tasks())[:t];
