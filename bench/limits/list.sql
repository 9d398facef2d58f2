-- One statement, which reads the rows and checks that the caller may see them: no service can do less.
\set p random(1, :projects)
select t.* from tasks t
where t.project_id = (bench.projects())[:p] and exists (
  select from projects p left join members m on m.project_id = p.id and m.user_id = (bench.owners())[:p]
  where (p.owner_id = (bench.owners())[:p] or m.role is not null) and p.id = (bench.projects())[:p])
order by t.id limit 20;
