-- Purpose: a crawl on several machines, each of which is a node with workers of its own.

-- One row a node: a directory on a machine. It has left when it handed everything over, and is lost when it was not
-- heard for so long that its groups were given to others; who is lost never comes back under its number.
create table nodes(
    number int primary key, name text not null, version text not null,
    workers int not null default 0, wanted int not null default 0, watched bool not null default false,
    shared_among int, joined_at timestamptz not null default clock_timestamp(), heard_at timestamptz,
    left_at timestamptz, lost_at timestamptz, leaving bool not null default false)
with (fillfactor = 20, autovacuum_vacuum_threshold = 200, autovacuum_vacuum_cost_delay = 0);
insert into nodes(number, name, version, workers, wanted, watched, shared_among)
select 0, '', '', workers, wanted, watched, shared_among from crawl;
alter table crawl drop column workers, drop column wanted, drop column watched, drop column shared_among;

-- What a node needs to know: the settings without secrets, as crawl.toml has them, and the seeds; compressed.
alter table crawl add column settings bytea not null default '', add column seeds bytea not null default '';

-- By which contract workers talk to this: what is in reports, batches, messages and parcels. One with another contract is
-- refused.
alter table crawl add column contract int not null default 1;

-- A worker's number says whose it is: ten thousand numbers belong to each node.
alter table workers add column node int not null generated always as (number / 10000) stored;
create index workers_of on workers(node);

-- As of which commit the parcels in `kept` are, with what the worker had then: how far it had read its inbox, its pages,
-- its statistics, and batches that nobody had heard of. What it read later stays in the inbox, be it settled: it is not
-- given to the worker again.
alter table workers add column settled bigint not null default 0, add column kept_number bigint not null default 0,
    add column kept_taken bigint not null default 0, add column kept_pages bigint not null default 0,
    add column kept_statistics bytea not null default '', add column kept_batches bytea not null default '';

-- What workers knew of the groups that they hold, some minutes ago: for others, if their node is lost. A round of them
-- counts when `workers.kept_number` is its commit; of a group the latest one does.
create table kept(
    worker int not null, number bigint not null, grp text not null, pending int not null, content bytea not null,
    primary key (worker, grp, number));
alter table kept alter column content set storage external;
