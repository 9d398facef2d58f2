-- A task that moved in says what hung on it, also of moves from before that was said: as the last event about each subtask
-- and comment before the move left it; where the log of the project that it came from is gone with it, as the next event
-- found it, or as it still is.
WITH "moves" AS (
  SELECT "id", "task_id" FROM "events" WHERE "type" = 'task.moved_in' AND NOT "after" ? 'subtasks'
), "nearest" AS (
  SELECT DISTINCT ON (m."id", e."entity_id") m."id", e."entity", e."entity_id",
    CASE WHEN e."id" < m."id" THEN e."after"
      WHEN e."before" IS NOT NULL THEN coalesce(e."after", '{}') || e."before" END AS "row"
  FROM "moves" m JOIN "events" e ON e."task_id" = m."task_id" AND e."entity" IN ('subtask', 'comment')
  ORDER BY m."id", e."entity_id", e."id" < m."id" DESC, CASE WHEN e."id" < m."id" THEN e."id" END DESC, e."id"
), "untouched" AS (
  SELECT m."id", c."entity", c."entity_id", c."row" FROM "moves" m JOIN (
    SELECT 'subtask' AS "entity", "id" AS "entity_id", "task_id", "event_id", jsonb_build_object(
      'id', "id", 'taskId', "task_id", 'title', "title", 'completed', "completed", 'eventId', "event_id",
      'createdAt', to_char("created_at" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')) AS "row"
    FROM "subtasks"
    UNION ALL
    SELECT 'comment', "id", "task_id", "event_id", jsonb_build_object(
      'id', "id", 'taskId', "task_id", 'authorId', "author_id", 'text', "text", 'eventId', "event_id",
      'createdAt', to_char("created_at" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
      'updatedAt', to_char("updated_at" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))
    FROM "comments"
  ) c ON c."task_id" = m."task_id" AND c."event_id" < m."id"
  WHERE NOT EXISTS (SELECT FROM "nearest" n WHERE n."id" = m."id" AND n."entity_id" = c."entity_id")
), "along" AS (
  SELECT "id",
    jsonb_agg("row" ORDER BY "entity_id") FILTER (WHERE "entity" = 'subtask') AS "subtasks",
    jsonb_agg("row" ORDER BY "entity_id") FILTER (WHERE "entity" = 'comment') AS "comments"
  FROM (SELECT * FROM "nearest" WHERE "row" IS NOT NULL UNION ALL SELECT * FROM "untouched") a
  GROUP BY "id"
)
UPDATE "events" e SET "after" = e."after" || jsonb_build_object(
  'subtasks', coalesce(a."subtasks", '[]'), 'comments', coalesce(a."comments", '[]'))
FROM "moves" m LEFT JOIN "along" a USING ("id")
WHERE e."id" = m."id" AND e."type" = 'task.moved_in';
