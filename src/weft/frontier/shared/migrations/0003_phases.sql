-- Purpose: a crawl in phases: the groups of the seeds first, the others when these are done.

-- 0: all groups at once; 1: those of the seeds first; 2: their turn is over, and the others have theirs.
alter table crawl add column phase int not null default 0;

-- While seeds come first: a worker has nothing to fetch but what waits for a time of its own.
alter table workers add column resting bool not null default false;
