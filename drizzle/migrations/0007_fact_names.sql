-- Facts are named noun.verb, in the words of the commands that make them.
UPDATE "events" SET "type" = CASE "type"
  WHEN 'subtask.added' THEN 'subtask.created'
  WHEN 'comment.added' THEN 'comment.created'
  WHEN 'comment.edited' THEN 'comment.updated'
  WHEN 'member.role-set' THEN 'member.role_set'
  WHEN 'task.moved-in' THEN 'task.moved_in'
  ELSE 'task.moved_out'
END WHERE "type" IN ('subtask.added', 'comment.added', 'comment.edited', 'member.role-set', 'task.moved-in', 'task.moved-out');
