ALTER TABLE "events" ADD COLUMN "task_id" uuid GENERATED ALWAYS AS (case
  when entity = 'task' then entity_id
  when entity in ('subtask', 'comment') then (coalesce(after, before) ->> 'taskId')::uuid
end) STORED;--> statement-breakpoint
ALTER TABLE "events" ALTER COLUMN "task_id" DROP EXPRESSION;--> statement-breakpoint
ALTER TABLE "events" ADD COLUMN "batch" bigint;