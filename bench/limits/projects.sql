-- One statement, which reads all projects that the caller may see.
\set p random(1, :projects)
select * from projects where owner_id = (bench.owners())[:p]
union all select p.* from members m join projects p on p.id = m.project_id where m.user_id = (bench.owners())[:p]
order by id limit 1000;
