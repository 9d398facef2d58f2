DROP INDEX "import_items_parent";--> statement-breakpoint
CREATE INDEX CONCURRENTLY "import_items_children" ON "import_items" USING btree ("import_id","parent","n") WHERE parent is not null;
