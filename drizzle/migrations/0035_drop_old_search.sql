DROP TABLE "search";--> statement-breakpoint
DROP TABLE "search_positions";--> statement-breakpoint
DROP TABLE "search_unmerged";--> statement-breakpoint
DROP TABLE "search_words";