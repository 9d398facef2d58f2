CREATE TABLE "import_batches" (
	"import_id" uuid NOT NULL,
	"seq" bigint NOT NULL,
	CONSTRAINT "import_batches_import_id_seq_pk" PRIMARY KEY("import_id","seq")
);
--> statement-breakpoint
CREATE TABLE "import_chunks" (
	"import_id" uuid NOT NULL,
	"n" integer NOT NULL,
	"bytes" bytea NOT NULL,
	CONSTRAINT "import_chunks_import_id_n_pk" PRIMARY KEY("import_id","n")
);
--> statement-breakpoint
CREATE TABLE "import_items" (
	"import_id" uuid NOT NULL,
	"kind" text NOT NULL,
	"n" integer NOT NULL,
	"row" integer NOT NULL,
	"key" text NOT NULL,
	"parent" text,
	"id" uuid NOT NULL,
	"item" jsonb NOT NULL,
	"outcome" text,
	CONSTRAINT "import_items_import_id_kind_n_pk" PRIMARY KEY("import_id","kind","n")
);
--> statement-breakpoint
CREATE TABLE "import_lines" (
	"import_id" uuid NOT NULL,
	"n" integer NOT NULL,
	"row" integer,
	"external_id" text,
	"outcome" text NOT NULL,
	"message" text NOT NULL,
	CONSTRAINT "import_lines_import_id_n_pk" PRIMARY KEY("import_id","n")
);
--> statement-breakpoint
CREATE TABLE "imports" (
	"id" uuid PRIMARY KEY NOT NULL,
	"project_id" uuid NOT NULL,
	"caller" jsonb NOT NULL,
	"source" text NOT NULL,
	"dry_run" boolean NOT NULL,
	"mapping" jsonb NOT NULL,
	"state" text NOT NULL,
	"cursor" jsonb,
	"progress" real DEFAULT 0 NOT NULL,
	"read" integer DEFAULT 0 NOT NULL,
	"created" integer DEFAULT 0 NOT NULL,
	"updated" integer DEFAULT 0 NOT NULL,
	"unchanged" integer DEFAULT 0 NOT NULL,
	"rejected" integer DEFAULT 0 NOT NULL,
	"error" text,
	"undo_state" text,
	"undone" integer DEFAULT 0 NOT NULL,
	"kept" integer DEFAULT 0 NOT NULL,
	"created_at" timestamp(3) with time zone DEFAULT now() NOT NULL,
	"started_at" timestamp(3) with time zone,
	"finished_at" timestamp(3) with time zone
);
--> statement-breakpoint
ALTER TABLE "comments" ADD COLUMN "imported_author" text;--> statement-breakpoint
ALTER TABLE "tasks" ADD COLUMN "imported_author" text;--> statement-breakpoint
CREATE INDEX "import_items_key" ON "import_items" USING btree ("import_id","kind","key","n");--> statement-breakpoint
CREATE INDEX "import_items_parent" ON "import_items" USING btree ("import_id","parent") WHERE parent is not null;--> statement-breakpoint
CREATE INDEX "imports_project" ON "imports" USING btree ("project_id","id");--> statement-breakpoint
CREATE UNIQUE INDEX "imports_active" ON "imports" USING btree ("project_id") WHERE state in ('receiving', 'queued', 'running') or undo_state in ('queued', 'running');