CREATE TABLE "people" (
	"one" boolean PRIMARY KEY DEFAULT true NOT NULL,
	"change_id" uuid NOT NULL
);
--> statement-breakpoint
ALTER TABLE "users" ADD COLUMN "renamed_by" uuid;