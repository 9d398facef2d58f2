DROP INDEX "comments_task";--> statement-breakpoint
DROP INDEX "members_user";--> statement-breakpoint
DROP INDEX "projects_owner";--> statement-breakpoint
DROP INDEX "subtasks_task";--> statement-breakpoint
DROP INDEX "tasks_created";--> statement-breakpoint
DROP INDEX "tasks_status";--> statement-breakpoint
DROP INDEX "tasks_assignee";--> statement-breakpoint
DROP INDEX "tasks_due";--> statement-breakpoint
CREATE INDEX "tasks_assignee_due" ON "tasks" USING btree ("project_id","assignee_id","status","priority",coalesce(due_date, 'infinity'),"id","created_at","number") WHERE assignee_id is not null;--> statement-breakpoint
CREATE INDEX "comments_task" ON "comments" USING btree ("task_id","id","created_at");--> statement-breakpoint
CREATE INDEX "members_user" ON "members" USING btree ("user_id","project_id","created_at");--> statement-breakpoint
CREATE INDEX "projects_owner" ON "projects" USING btree ("owner_id","id","created_at");--> statement-breakpoint
CREATE INDEX "subtasks_task" ON "subtasks" USING btree ("task_id","id","created_at");--> statement-breakpoint
CREATE INDEX "tasks_created" ON "tasks" USING btree ("project_id","id","number");--> statement-breakpoint
CREATE INDEX "tasks_status" ON "tasks" USING btree ("project_id","status","priority","id","created_at");--> statement-breakpoint
CREATE INDEX "tasks_assignee" ON "tasks" USING btree ("project_id","assignee_id","status","priority","id","created_at","number") WHERE assignee_id is not null;--> statement-breakpoint
CREATE INDEX "tasks_due" ON "tasks" USING btree ("project_id","status","priority",coalesce(due_date, 'infinity'),"id","created_at");