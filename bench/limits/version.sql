-- The query of an unchanged list, if its project has a version.
\set p random(1, :projects)
select s.version from projects p join streams s on s.project_id = p.id
left join members m on m.project_id = p.id and m.user_id = (bench.owners())[:p]
where (p.owner_id = (bench.owners())[:p] or m.role is not null)
  and p.id = (bench.projects())[:p];
