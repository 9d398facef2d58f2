DROP INDEX "tasks_created";--> statement-breakpoint
DROP INDEX "tasks_status";--> statement-breakpoint
DROP INDEX "tasks_assignee";--> statement-breakpoint
DROP INDEX "tasks_due";--> statement-breakpoint
CREATE INDEX "tasks_assignee_due" ON "tasks" USING btree ("project_id","assignee_id","status","priority",coalesce(due_date, 'infinity'),"id","created_at","number") WHERE assignee_id is not null;--> statement-breakpoint
CREATE INDEX "tasks_created" ON "tasks" USING btree ("project_id","id","number");--> statement-breakpoint
CREATE INDEX "tasks_status" ON "tasks" USING btree ("project_id","status","priority","id","created_at");--> statement-breakpoint
CREATE INDEX "tasks_assignee" ON "tasks" USING btree ("project_id","assignee_id","status","priority","id","created_at","number") WHERE assignee_id is not null;--> statement-breakpoint
CREATE INDEX "tasks_due" ON "tasks" USING btree ("project_id","status","priority",coalesce(due_date, 'infinity'),"id","created_at");