CREATE TABLE "ready_cursors" (
	"project_id" uuid PRIMARY KEY NOT NULL,
	"seq" bigint NOT NULL
);
--> statement-breakpoint
INSERT INTO "ready_cursors" SELECT "project_id", "version" FROM "streams";
